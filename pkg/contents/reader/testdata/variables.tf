variable "region" {
  type        = string
  description = "Where it is."
}

variable "name" {
  type        = string
  default     = "a <b> & \"c\""
  nullable    = false
  description = <<-EOT
    The name.

      - indented
  EOT

  validation {
    condition     = length(var.name) > 2
    error_message = "The name is too short."
  }
  validation {
    condition     = var.name != var.region
    error_message = "It must not be ${var.region}."
  }
}

variable "password" {
  type      = string
  sensitive = true
  ephemeral = true
  default   = null
}

variable "old" {
  default    = 1.50
  deprecated = "Use name instead."
}

variable "subnets" {
  type = map(object({
    cidr = string
    zone = optional(string, "a")
  }))
  default = {
    b = { cidr = "10.0.1.0/24" }
    a = { cidr = "10.0.0.0/24", zone = null }
  }
}

variable "tags" {
  default = []
}

variable "computed" {
  default = { at = timestamp() }
}

variable "loop" {
  default = [for i in [1, 2] : i * 2]
}

variable "negative" {
  type    = number
  default = -3
}

variable "quoted" {
  type    = "list"
  default = ["a", true, 2]
}

variable "text" {
  default = <<EOT
two
lines
EOT
}
