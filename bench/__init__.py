"""Hardware-in-the-loop test bench for ExecuTorch int8 kernels."""
