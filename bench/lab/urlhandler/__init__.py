"""pyserial looks here for ``protocol_<scheme>`` modules (see :mod:`bench.lab.rfc2217`)."""
