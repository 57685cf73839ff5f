"""Recording a host as a test folder, without serial numbers and names."""
