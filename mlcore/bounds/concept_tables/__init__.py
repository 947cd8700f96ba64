"""Classes given as tables of zeros and ones: VC, Littlestone and teaching dimension, growth."""
