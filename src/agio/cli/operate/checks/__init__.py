"""What `agio doctor` looks at, one subject a module. A check finds out and says what to do; it changes nothing."""
