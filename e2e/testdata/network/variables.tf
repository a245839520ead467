variable "cidr" {
  description = "The block to plan, in CIDR notation."
  type        = string
  default     = "10.0.0.0/16"

  validation {
    condition     = can(cidrhost(var.cidr, 0))
    error_message = "cidr must be an address block such as 10.0.0.0/16."
  }
}

variable "zones" {
  description = "The availability zones, in the order in which ranges are given out."
  type        = list(string)
  default     = ["a", "b", "c"]
}

variable "tiers" {
  description = "The tiers of each zone."
  type        = set(string)
  default     = ["private", "public"]
}
