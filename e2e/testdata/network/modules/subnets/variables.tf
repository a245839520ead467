variable "cidr" {
  description = "The block to cut."
  type        = string
}

variable "names" {
  description = "One name for each range."
  type        = list(string)
}
