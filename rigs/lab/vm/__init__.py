"""A virtual machine with a Debian kernel, systemd, and all kinds of drives.

It uses QEMU without KVM, because a runner with /dev/kvm may not support such a kernel. Everything
is built from Debian packages and cached below var/lab.
"""
