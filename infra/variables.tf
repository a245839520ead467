variable "bucket_name" {
  description = "Name of the bucket, unique among all of AWS, such as acme-registry. Everything else is named after it."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{1,38}[a-z0-9]$", var.bucket_name))
    error_message = "bucket_name must be 3 to 40 lower case letters, digits and hyphens, with no hyphen at either end, because the names of roles and functions contain it."
  }
}

variable "build_dir" {
  description = "Folder with the functions as `make build` leaves them: <function>.zip, for linux/arm64. Null: build/ beside this module."
  type        = string
  default     = null
}

variable "code_bucket" {
  description = "Bucket, in the provider's own region, with the functions' zips, to deploy without a checkout. Empty, they are uploaded from build_dir."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", var.code_bucket))
    error_message = "code_bucket must be the name of a bucket."
  }
}

variable "code_prefix" {
  description = "Prefix of their keys in code_bucket, such as larder/1.4.0/ for larder/1.4.0/publish.zip. Put the release into it: Terraform only notices new code by a new key."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^[^/].*/$", var.code_prefix))
    error_message = "code_prefix must end with a slash and not begin with one, such as larder/1.4.0/."
  }
}

variable "read_access" {
  description = "Who may read. With \"required\", only those with a token; with \"open\", everybody who reaches the registry."
  type        = string
  default     = "required"
  nullable    = false

  validation {
    condition     = contains(["required", "open"], var.read_access)
    error_message = "read_access must be \"required\" or \"open\"."
  }
}

variable "domain_name" {
  description = "The registry's own host name, such as registry.example.com. Empty, AWS makes one up."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^([a-z0-9]([a-z0-9-]*[a-z0-9])?\\.)+[a-z]{2,}$", var.domain_name))
    error_message = "domain_name must be a host name in lower case, without a scheme or a port."
  }
}

variable "certificate_arn" {
  description = "ARN of the ACM certificate for domain_name, in the provider's own region. Needed with domain_name."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^arn:aws[a-z-]*:acm:[a-z0-9-]+:[0-9]{12}:certificate/.+$", var.certificate_arn))
    error_message = "certificate_arn must be the ARN of a certificate in ACM."
  }
}

variable "hosted_zone_id" {
  description = "Route 53 hosted zone that gets the record for domain_name. Empty, you make the record yourself."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^Z[A-Z0-9]+$", var.hosted_zone_id))
    error_message = "hosted_zone_id must be the id of a hosted zone, such as Z0123456789ABCDEFGHIJ."
  }
}

variable "create_record" {
  description = "Whether hosted_zone_id gets the record. Null: if hosted_zone_id is not empty, which Terraform must know when it plans. Set true if the zone is made by the same apply."
  type        = bool
  default     = null
}

variable "allow_overwrite" {
  description = "Whether the module takes over a record of the same name and type that hosted_zone_id has already, as when a registry moves. It never takes over a record of another type, such as a CNAME."
  type        = bool
  default     = false
  nullable    = false
}

variable "client_truststore" {
  description = "S3 URI of a PEM file with an authority. Only clients with its certificates may connect to domain_name, for a front such as CloudFront. Empty, every client may."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/.+$", var.client_truststore))
    error_message = "client_truststore must be the S3 URI of a file, such as s3://acme-certificates/front.pem."
  }
}

variable "inbox_days" {
  description = "Days after which uploads are deleted. By then they are copies of what was published."
  type        = number
  default     = 30
  nullable    = false

  validation {
    # An event may wait in the queue for 14 days, and the upload that it names must still be there.
    condition     = var.inbox_days >= 15 && var.inbox_days <= 3650 && floor(var.inbox_days) == var.inbox_days
    error_message = "inbox_days must be a whole number from 15 to 3650."
  }
}

variable "log_days" {
  description = "Days for which logs are kept: one of the numbers that CloudWatch takes."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition = contains(
      [1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653],
      var.log_days,
    )
    error_message = "log_days must be one of 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288 and 3653."
  }
}

variable "url_lifetime" {
  description = "How long download URLs work, from 1m to 30m."
  type        = string
  default     = "15m"
  nullable    = false

  validation {
    condition     = can(regex("^([1-9]|[12][0-9]|30)m$", var.url_lifetime))
    error_message = "url_lifetime must be from 1m to 30m, in whole minutes."
  }
}

variable "request_rate" {
  description = "Requests per second that the registry answers in the long run. A terraform init makes about two per provider and module."
  type        = number
  default     = 100
  nullable    = false

  validation {
    condition     = var.request_rate >= 1
    error_message = "request_rate must be 1 or more."
  }
}

variable "request_burst" {
  description = "Requests that the registry answers at once."
  type        = number
  default     = 200
  nullable    = false

  validation {
    condition     = var.request_burst >= 1
    error_message = "request_burst must be 1 or more."
  }
}

variable "publish_concurrency" {
  description = "Uploads that are published at once. New accounts have 10 concurrent executions for all their functions."
  type        = number
  default     = 4
  nullable    = false

  validation {
    # Lambda's own limits.
    condition     = var.publish_concurrency >= 2 && var.publish_concurrency <= 1000
    error_message = "publish_concurrency must be from 2 to 1000."
  }
}

variable "mirror_upstreams" {
  description = "Providers of other registries that the mirror fetches when a client asks for them, such as registry.terraform.io/hashicorp/*, with commas between them. Empty, the mirror has only what is uploaded."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^[^ ,/*]+/([^ ,/*]+|\\*)/([^ ,/*]+|\\*)(,[^ ,/*]+/([^ ,/*]+|\\*)/([^ ,/*]+|\\*))*$", var.mirror_upstreams))
    error_message = "mirror_upstreams must be patterns <hostname>/<namespace>/<type>, such as registry.terraform.io/hashicorp/*, with commas and no spaces between them."
  }
}

variable "mirror_platforms" {
  description = "Platforms for which the mirror fetches them, with commas between them, or \"all\"."
  type        = string
  default     = "darwin_arm64,linux_amd64,linux_arm64,windows_amd64"
  nullable    = false

  validation {
    condition     = can(regex("^all$|^[a-z0-9]+_[a-z0-9]+(,[a-z0-9]+_[a-z0-9]+)*$", var.mirror_platforms))
    error_message = "mirror_platforms must be platforms such as linux_amd64, with commas between them, or \"all\"."
  }
}

variable "login_issuer" {
  description = "URL of the OpenID Connect provider with which people log in, exactly as the provider writes it, such as https://login.example.com. Empty, nobody can run \"terraform login\". Set domain_name, too, or every address has a name that AWS made up."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^https://[a-zA-Z0-9.-]+(:[0-9]+)?(/[^ ?#]*)?$", var.login_issuer))
    error_message = "login_issuer must be an https:// URL without query and fragment."
  }
}

variable "login_client_id" {
  description = "The registry's client ID at that provider. Needed with login_issuer."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^[!-~]*$", var.login_client_id))
    error_message = "login_client_id must be printable ASCII without spaces."
  }
}

variable "login_client_secret_name" {
  description = "Name of a SecureString parameter of Systems Manager that holds the client's secret, such as /larder/login-secret, encrypted with the key aws/ssm. Empty, the client is a public one, which uses only PKCE."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^(/[a-zA-Z0-9_.-]+)+$", var.login_client_secret_name))
    error_message = "login_client_secret_name must begin with a slash, such as /larder/login-secret."
  }
}

variable "login_scopes" {
  description = "Scopes that the registry asks the provider for, with spaces between them. They decide which claims the provider gives."
  type        = string
  default     = "openid profile email"
  nullable    = false

  validation {
    condition     = can(regex("^openid( [!-~]+)*$", var.login_scopes))
    error_message = "login_scopes must be openid and others, with one space between."
  }
}

variable "uploader_namespace" {
  description = "Namespace for which an IAM policy for uploaders is made. Empty, no policy is made."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$", var.uploader_namespace))
    error_message = "uploader_namespace must be lower case letters, digits and hyphens."
  }
}

variable "create_uploader_policy" {
  description = "Whether that policy is made. Null: if uploader_namespace is not empty, which Terraform must know when it plans."
  type        = bool
  default     = null
}

variable "migration_principal_arn" {
  description = "ARN of an IAM role or user that may also write to registry/, while a registry is moved here. Empty otherwise."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/[a-zA-Z0-9+=,.@_/-]+$", var.migration_principal_arn))
    error_message = "migration_principal_arn must be the ARN of an IAM role or user."
  }
}

variable "signing_key_arn" {
  description = "KMS key that signs instead of the module's own key, after a rotation. Empty, the module's own key signs."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[a-zA-Z0-9-]+$", var.signing_key_arn))
    error_message = "signing_key_arn must be the ARN of a key in KMS, and not of an alias."
  }
}

variable "alarm_topic_arn" {
  description = "SNS topic that gets the alarms. Empty, alarms are only in CloudWatch."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:.+$", var.alarm_topic_arn))
    error_message = "alarm_topic_arn must be the ARN of an SNS topic."
  }
}

variable "permissions_boundary_arn" {
  description = "IAM policy that is the permissions boundary of every role here. Empty, roles have no boundary."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^arn:aws[a-z-]*:iam::([0-9]{12}|aws):policy/[a-zA-Z0-9+=,.@_/-]+$", var.permissions_boundary_arn))
    error_message = "permissions_boundary_arn must be the ARN of an IAM policy."
  }
}

variable "subnet_ids" {
  description = "Subnets of the functions that connect to others than AWS (login and fetch). They must lead to the internet and to AWS. Empty, they are in no VPC."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for id in var.subnet_ids : can(regex("^subnet-[0-9a-f]+$", id))])
    error_message = "subnet_ids must be ids of subnets, such as subnet-0123456789abcdef0."
  }
}

variable "security_group_ids" {
  description = "Security groups of these functions. Needed with subnet_ids."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for id in var.security_group_ids : can(regex("^sg-[0-9a-f]+$", id))])
    error_message = "security_group_ids must be ids of security groups, such as sg-0123456789abcdef0."
  }
}

variable "queue_key_arn" {
  description = "KMS key that encrypts the queues. Its policy must let S3 use it. Empty, a key of SQS encrypts them."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[a-zA-Z0-9-]+$", var.queue_key_arn))
    error_message = "queue_key_arn must be the ARN of a key in KMS, and not of an alias."
  }
}

variable "topic_key_arn" {
  description = "KMS key that encrypts the topic of outcomes. Empty, it is not encrypted."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[a-zA-Z0-9-]+$", var.topic_key_arn))
    error_message = "topic_key_arn must be the ARN of a key in KMS, and not of an alias."
  }
}

variable "log_key_arn" {
  description = "KMS key that encrypts the logs. Its policy must let CloudWatch Logs use it. Empty, a key of CloudWatch encrypts them."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[a-zA-Z0-9-]+$", var.log_key_arn))
    error_message = "log_key_arn must be the ARN of a key in KMS, and not of an alias."
  }
}

variable "multi_region_key" {
  description = "Whether the signing key can have replicas in other regions. It cannot be changed after the key is made."
  type        = bool
  default     = false
  nullable    = false
}

variable "more_alarms" {
  description = "Whether there are also alarms on the daily reconcile, throttled reads and writes, slow publishing, failing fetches and the end of the certificate. Each alarm costs, beyond ten in an account."
  type        = bool
  default     = false
  nullable    = false
}

variable "tags" {
  description = "Tags for every resource, beside application = \"larder\"."
  type        = map(string)
  default     = {}
  nullable    = false
}
