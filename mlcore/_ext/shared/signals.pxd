"""Ctrl-C inside of a loop of which one item may take longer than a second."""

cdef extern from "Python.h":
    int PyErr_CheckSignals() noexcept

cdef extern from * nogil:
    """
    #ifdef _WIN32
    #include <windows.h>
    #define rest() Sleep(1)
    #else
    #include <unistd.h>
    #define rest() usleep(500)
    #endif
    #define add_to(counter, x) __atomic_fetch_add(counter, x, __ATOMIC_SEQ_CST)
    """
    void rest()
    Py_ssize_t add_to(Py_ssize_t* counter, Py_ssize_t x)

cdef struct shared_items:  # of a loop whose threads take the next item when they are done
    Py_ssize_t next, last
    Py_ssize_t working  # threads
    int stop  # becomes true at Ctrl-C


cdef inline bint interrupted() noexcept nogil:
    """Return True in Python's main thread, the exception being set, if a signal has come."""
    with gil:
        return PyErr_CheckSignals() < 0


cdef inline int raise_interrupt() except -1:
    """Raise the exception that `interrupted` has set."""
    return -1


cdef inline shared_items items_of(Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef shared_items items
    items.next, items.last = first, last
    items.working = items.stop = 0
    return items


cdef inline bint take_item(shared_items* items, Py_ssize_t* i) noexcept nogil:
    """Return True and the next item, unless there is none or Ctrl-C was pressed."""
    if items.stop:
        return False
    i[0] = add_to(&items.next, 1)
    return i[0] < items.last


cdef inline void leave_items(shared_items* items, bint main) noexcept nogil:
    """End the work of a thread; the main one waits for the others, hearing Ctrl-C for them."""
    cdef Py_ssize_t looks = 0
    add_to(&items.working, -1)
    while main and add_to(&items.working, 0) > 0:
        looks += 1
        if looks > 1000:  # some tens of microseconds, in which most loops end
            rest()
            if not items.stop and interrupted():
                items.stop = 1
