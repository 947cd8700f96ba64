"""Hot loops of mlcore.svm.linear."""
