"""The compiled loops; see the module of the same word for what they mean.

Their arguments are positional only (`/`): the code that reads names is a tenth of an extension.
"""
