# What must outlive everything else. Terraform refuses to destroy it while the module is in the configuration; after
# that, AWS refuses (docs/decisions/0028-removed-modules.md).

resource "aws_s3_bucket" "registry" {
  bucket = var.bucket_name
  tags   = local.tags

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_s3_bucket_versioning" "registry" {
  bucket = aws_s3_bucket.registry.id

  versioning_configuration {
    status = "Enabled"
  }
}

# Not KMS: every download would call it, with the rights of the function that signed the URL.
resource "aws_s3_bucket_server_side_encryption_configuration" "registry" {
  bucket = aws_s3_bucket.registry.id

  rule {
    apply_server_side_encryption_by_default {
      sse_algorithm = "AES256"
    }
  }
}

resource "aws_s3_bucket_public_access_block" "registry" {
  bucket = aws_s3_bucket.registry.id

  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_ownership_controls" "registry" {
  bucket = aws_s3_bucket.registry.id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }

  depends_on = [aws_s3_bucket_public_access_block.registry] # S3 takes one change of access at a time
}

# Only the inbox expires. Days on the current version also removes delete markers that hide nothing any more. A
# version that was overwritten is kept as long, because its event may be late.
resource "aws_s3_bucket_lifecycle_configuration" "registry" {
  bucket = aws_s3_bucket.registry.id

  rule {
    id     = "unfinished-uploads"
    status = "Enabled"

    filter {}

    abort_incomplete_multipart_upload {
      days_after_initiation = 7
    }
  }

  dynamic "rule" {
    for_each = local.inbox

    content {
      id     = "inbox-${trimsuffix(rule.value, "/")}"
      status = "Enabled"

      filter {
        prefix = rule.value
      }

      expiration {
        days = var.inbox_days
      }

      noncurrent_version_expiration {
        noncurrent_days = var.inbox_days
      }
    }
  }

  depends_on = [aws_s3_bucket_versioning.registry]
}

# Only of the inbox, too: what publish writes under registry/ must not start publish again.
resource "aws_s3_bucket_notification" "registry" {
  bucket = aws_s3_bucket.registry.id

  dynamic "queue" {
    for_each = local.inbox

    content {
      queue_arn     = aws_sqs_queue.uploads.arn
      events        = ["s3:ObjectCreated:*"]
      filter_prefix = queue.value
    }
  }

  depends_on = [aws_sqs_queue_policy.uploads] # S3 sends the queue a test event before it takes this
}

resource "aws_s3_bucket_policy" "registry" {
  bucket = aws_s3_bucket.registry.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "TlsOnly"
        Effect    = "Deny"
        Principal = "*"
        Action    = "s3:*"
        Resource  = [local.bucket_arn, "${local.bucket_arn}/*"]
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
      },
      {
        Sid       = "RecentTlsOnly"
        Effect    = "Deny"
        Principal = "*"
        Action    = "s3:*"
        Resource  = [local.bucket_arn, "${local.bucket_arn}/*"]
        Condition = { NumericLessThan = { "s3:TlsVersion" = "1.2" } }
      },
      # S3 encrypts an object by default. So only requests that ask for another encryption are refused.
      {
        Sid       = "NoOtherEncryption"
        Effect    = "Deny"
        Principal = "*"
        Action    = "s3:PutObject"
        Resource  = "${local.bucket_arn}/*"
        Condition = {
          StringNotEqualsIfExists = { "s3:x-amz-server-side-encryption" = "AES256" }
          Null                    = { "s3:x-amz-server-side-encryption" = "false" }
        }
      },
      {
        Sid       = "NoCustomerKeys"
        Effect    = "Deny"
        Principal = "*"
        Action    = "s3:PutObject"
        Resource  = "${local.bucket_arn}/*"
        Condition = { Null = { "s3:x-amz-server-side-encryption-customer-algorithm" = "false" } }
      },
      # Nobody may, not even administrators and publish. If you must, change this policy first.
      {
        Sid       = "NothingPublishedIsDeleted"
        Effect    = "Deny"
        Principal = "*"
        Action = [
          "s3:BypassGovernanceRetention", # of Object Lock, where somebody switches that on
          "s3:DeleteObject",
          "s3:DeleteObjectVersion",
          "s3:ReplicateDelete",
        ]
        Resource = "${local.bucket_arn}/registry/*"
      },
      # No role needs the other ways to change what is served, or to whom: by its encryption, so that nobody can read
      # it; by its owner and its ACL.
      {
        Sid       = "NothingPublishedIsAltered"
        Effect    = "Deny"
        Principal = "*"
        Action = [
          "s3:ObjectOwnerOverrideToBucketOwner",
          "s3:PutObjectAcl",
          "s3:PutObjectVersionAcl",
          "s3:UpdateObjectEncryption",
        ]
        Resource = "${local.bucket_arn}/registry/*"
      },
      # So nothing removes the policy as a side effect, for example when the module is taken out of a configuration.
      {
        Sid       = "ThisPolicyIsKept"
        Effect    = "Deny"
        Principal = "*"
        Action    = "s3:DeleteBucketPolicy"
        Resource  = local.bucket_arn
      },
      # By an upload, a copy or a replication. Also tags, because a lifecycle rule could expire objects by their tags.
      {
        Sid       = "OnlyPublishWrites"
        Effect    = "Deny"
        Principal = "*"
        Action = [
          "s3:DeleteObjectTagging",
          "s3:DeleteObjectVersionTagging",
          "s3:PutObject",
          "s3:PutObjectTagging",
          "s3:PutObjectVersionTagging",
          "s3:ReplicateObject",
          "s3:ReplicateTags",
        ]
        Resource = "${local.bucket_arn}/registry/*"
        Condition = {
          ArnNotEquals = { "aws:PrincipalArn" = compact([local.publish_role_arn, var.migration_principal_arn]) }
        }
      },
      # Records and public keys are never replaced, not even by publish: it must write them with If-None-Match, and
      # may not copy anything there or upload in parts. Only the principal that moves a registry here may, because the
      # AWS CLI copies without If-None-Match.
      {
        Sid       = "RecordsAndKeysAreCreatedOnce"
        Effect    = "Deny"
        Principal = "*"
        Action    = "s3:PutObject"
        Resource  = ["${local.bucket_arn}/registry/keys/*", "${local.bucket_arn}/registry/records/*"]
        Condition = {
          ArnEquals = { "aws:PrincipalArn" = local.publish_role_arn }
          Null      = { "s3:if-none-match" = "true" }
        }
      },
    ]
  })

  lifecycle {
    prevent_destroy = true
  }

  # S3 takes one change of access at a time. Terraform destroys in the reverse order: as long as the policy cannot be
  # deleted, these settings stay, too, and so do versioning and the public access block, for which they wait.
  depends_on = [
    aws_s3_bucket_lifecycle_configuration.registry,
    aws_s3_bucket_ownership_controls.registry,
    aws_s3_bucket_server_side_encryption_configuration.registry,
  ]
}

# An index over the records in the bucket. It can be rebuilt from them.
resource "aws_dynamodb_table" "catalog" {
  name                        = var.bucket_name
  billing_mode                = "PAY_PER_REQUEST"
  deletion_protection_enabled = true
  hash_key                    = "PK"
  range_key                   = "SK"
  tags                        = local.tags

  attribute {
    name = "PK"
    type = "S"
  }

  attribute {
    name = "SK"
    type = "S"
  }

  point_in_time_recovery {
    enabled = true
  }

  ttl {
    attribute_name = "expires"
    enabled        = true
  }

  lifecycle {
    prevent_destroy = true
  }
}

# The account manages the key. Only publish signs with it; the account's administrators do not. To delete it, allow
# that here first. Roles are named in conditions, not as principals: a principal must exist first, and becomes an
# orphaned identifier when its role is made again.
resource "aws_kms_key" "signing" {
  description              = "Signs the SHA256SUMS of the registry ${var.bucket_name}"
  customer_master_key_spec = "RSA_4096"
  key_usage                = "SIGN_VERIFY"
  multi_region             = var.multi_region_key
  deletion_window_in_days  = 30
  tags                     = local.tags

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "AccountManages"
        Effect    = "Allow"
        Principal = { AWS = "arn:${local.partition}:iam::${local.account}:root" }
        Action = concat(var.multi_region_key ? ["kms:ReplicateKey"] : [], [
          "kms:CancelKeyDeletion",
          "kms:CreateAlias",
          "kms:DeleteAlias",
          "kms:DescribeKey",
          "kms:DisableKey",
          "kms:EnableKey",
          "kms:GetKeyPolicy",
          "kms:GetKeyRotationStatus",
          "kms:GetPublicKey",
          "kms:ListGrants",
          "kms:ListKeyPolicies",
          "kms:ListResourceTags",
          "kms:PutKeyPolicy",
          "kms:TagResource",
          "kms:UntagResource",
          "kms:UpdateAlias",
          "kms:UpdateKeyDescription",
        ])
        Resource = "*" # in a key's policy: this key
      },
      {
        Sid       = "PublishSigns"
        Effect    = "Allow"
        Principal = { AWS = "arn:${local.partition}:iam::${local.account}:root" }
        Action    = "kms:Sign"
        Resource  = "*" # in a key's policy: this key
        Condition = { ArnEquals = { "aws:PrincipalArn" = local.publish_role_arn } }
      },
      {
        Sid       = "NobodyElseSigns"
        Effect    = "Deny"
        Principal = { AWS = "*" }
        Action    = "kms:Sign"
        Resource  = "*" # in a key's policy: this key
        Condition = { ArnNotEquals = { "aws:PrincipalArn" = local.publish_role_arn } }
      },
    ]
  })

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_kms_alias" "signing" {
  name          = "alias/${var.bucket_name}"
  target_key_id = aws_kms_key.signing.key_id
}
