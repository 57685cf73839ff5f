"""A virtual machine with a kernel of Debian's, systemd, and drives of every kind.

QEMU without KVM: where a runner has a /dev/kvm, it may not boot such a kernel. Everything is made
from Debian's packages, and kept under var/lab.
"""
