variable "bucket_name" {
  description = "Name of the bucket, unique among all of AWS, such as acme-registry. Everything else is named after it."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{1,38}[a-z0-9]$", var.bucket_name))
    error_message = "bucket_name must be 3 to 40 lower case letters, digits and hyphens, with no hyphen at either end, for the names of roles and functions are made from it."
  }
}

variable "build_dir" {
  description = "Folder with the functions as `make build` leaves them: <function>.zip, for linux/arm64. Null: build/ beside this module."
  type        = string
  default     = null
}

variable "code_bucket" {
  description = "Bucket, in the provider's own region, that has the functions' zips, for whoever deploys without a checkout. Empty, they are uploaded from build_dir."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", var.code_bucket))
    error_message = "code_bucket must be the name of a bucket."
  }
}

variable "code_prefix" {
  description = "What their keys in code_bucket begin with, such as larder/1.4.0/ for larder/1.4.0/publish.zip. Name the release in it: new code is noticed by another key."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^[^/].*/$", var.code_prefix))
    error_message = "code_prefix must end with a slash and not begin with one, such as larder/1.4.0/."
  }
}

variable "read_access" {
  description = "Who may read. \"required\" lets nobody in without a token; \"open\" lets everybody in who reaches the registry."
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
  description = "Route 53 hosted zone that gets the record for domain_name. Empty, the record is yours to make."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^Z[A-Z0-9]+$", var.hosted_zone_id))
    error_message = "hosted_zone_id must be the id of a hosted zone, such as Z0123456789ABCDEFGHIJ."
  }
}

variable "create_record" {
  description = "Whether hosted_zone_id gets the record. Null: if hosted_zone_id is not empty, which has to be known when Terraform plans; say true where it is the id of a zone that is made at the same time."
  type        = bool
  default     = null
}

variable "allow_overwrite" {
  description = "Whether a record of the same name and type that hosted_zone_id has already is taken over, as when a registry moves. One of another type, such as a CNAME made by hand, is in the way all the same."
  type        = bool
  default     = false
  nullable    = false
}

variable "client_truststore" {
  description = "S3 URI of a PEM file with the authority whose client certificates alone may connect to domain_name, for a front such as CloudFront. Empty, everybody may."
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
    # An event may wait in the queue for 14 days, and names an upload that must still be there.
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
  description = "Requests per second that the registry answers in the long run. A terraform init makes some two per provider and module."
  type        = number
  default     = 100
  nullable    = false

  validation {
    condition     = var.request_rate >= 1
    error_message = "request_rate must be 1 or more."
  }
}

variable "request_burst" {
  description = "Requests that it answers at once."
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
  description = "Providers of other registries that the mirror fetches when they are asked for, such as registry.terraform.io/hashicorp/*, with commas between them. Empty, it has what is uploaded alone."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^[^ ,/*]+/([^ ,/*]+|\\*)/([^ ,/*]+|\\*)(,[^ ,/*]+/([^ ,/*]+|\\*)/([^ ,/*]+|\\*))*$", var.mirror_upstreams))
    error_message = "mirror_upstreams must be patterns <hostname>/<namespace>/<type>, such as registry.terraform.io/hashicorp/*, with commas and no spaces between them."
  }
}

variable "mirror_platforms" {
  description = "Platforms for which it fetches them, with commas between them, or \"all\"."
  type        = string
  default     = "darwin_arm64,linux_amd64,linux_arm64,windows_amd64"
  nullable    = false

  validation {
    condition     = can(regex("^all$|^[a-z0-9]+_[a-z0-9]+(,[a-z0-9]+_[a-z0-9]+)*$", var.mirror_platforms))
    error_message = "mirror_platforms must be platforms such as linux_amd64, with commas between them, or \"all\"."
  }
}

variable "login_issuer" {
  description = "URL of the OpenID Connect provider with which people log in, exactly as it calls itself, such as https://login.example.com. Empty, nobody can run \"terraform login\". domain_name is recommended, or every address has a name that AWS made up."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^https://[a-zA-Z0-9.-]+(:[0-9]+)?(/[^ ?#]*)?$", var.login_issuer))
    error_message = "login_issuer must be an https:// URL without query and fragment."
  }
}

variable "login_client_id" {
  description = "What that provider knows the registry by. Needed with login_issuer."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^[!-~]*$", var.login_client_id))
    error_message = "login_client_id must be printable ASCII without spaces."
  }
}

variable "login_client_secret_name" {
  description = "Name of a SecureString parameter of Systems Manager that holds the client's secret, such as /larder/login-secret, encrypted with the key aws/ssm. Empty, the client is a public one, with PKCE alone."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^(/[a-zA-Z0-9_.-]+)+$", var.login_client_secret_name))
    error_message = "login_client_secret_name must begin with a slash, such as /larder/login-secret."
  }
}

variable "login_scopes" {
  description = "What the provider is asked for, with spaces between. Which claims it tells follows from that."
  type        = string
  default     = "openid profile email"
  nullable    = false

  validation {
    condition     = can(regex("^openid( [!-~]+)*$", var.login_scopes))
    error_message = "login_scopes must be openid and others, with one space between."
  }
}

variable "uploader_namespace" {
  description = "Namespace for which an IAM policy for uploaders is made. Empty, none is."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$", var.uploader_namespace))
    error_message = "uploader_namespace must be lower case letters, digits and hyphens."
  }
}

variable "create_uploader_policy" {
  description = "Whether that policy is made. Null: if uploader_namespace is not empty, which has to be known when Terraform plans."
  type        = bool
  default     = null
}

variable "migration_principal_arn" {
  description = "ARN of an IAM role or user that may write registry/ too, while a registry is moved here. Empty otherwise."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/[a-zA-Z0-9+=,.@_/-]+$", var.migration_principal_arn))
    error_message = "migration_principal_arn must be the ARN of an IAM role or user."
  }
}

variable "signing_key_arn" {
  description = "KMS key that signs in the place of the module's own, after a rotation. Empty, the module's own signs."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[a-zA-Z0-9-]+$", var.signing_key_arn))
    error_message = "signing_key_arn must be the ARN of a key in KMS, and not of an alias."
  }
}

variable "alarm_topic_arn" {
  description = "SNS topic that alarms are sent to. Empty, they are seen in CloudWatch alone."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:.+$", var.alarm_topic_arn))
    error_message = "alarm_topic_arn must be the ARN of an SNS topic."
  }
}

variable "permissions_boundary_arn" {
  description = "IAM policy that bounds what every role here may do. Empty, none does."
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
  description = "KMS key that encrypts the queues, and whose policy lets S3 use it. Empty, a key of SQS does."
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
  description = "KMS key that encrypts the logs, and whose policy lets CloudWatch Logs use it. Empty, a key of CloudWatch's does."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^$|^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[a-zA-Z0-9-]+$", var.log_key_arn))
    error_message = "log_key_arn must be the ARN of a key in KMS, and not of an alias."
  }
}

variable "multi_region_key" {
  description = "Whether the signing key can have replicas in other regions. It is decided when the key is made, and never changes."
  type        = bool
  default     = false
  nullable    = false
}

variable "more_alarms" {
  description = "Whether there are alarms also on the daily reconcile, throttled reads and writes, slow publishing, failing fetches and the end of the certificate. Each costs, beyond ten in an account."
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
