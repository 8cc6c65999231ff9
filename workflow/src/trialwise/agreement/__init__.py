"""Whether two decision makers behave alike trial by trial, beyond both papers."""
