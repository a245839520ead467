variable "bucket" {
  description = "Name of the registry's bucket."
  type        = string
}

variable "domain" {
  description = "The registry's host name, inside the zone."
  type        = string
}

variable "zone" {
  description = "A public hosted zone in Route 53."
  type        = string
}

variable "alarm_email" {
  description = "Who is told of alarms."
  type        = string
}
