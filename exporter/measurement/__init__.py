"""What the measuring commands share: admission, account, lock, guarded runs."""
