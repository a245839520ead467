# Each function has a role of its own, with all its rights.

locals {
  # Modules and providers, and nothing else in the table.
  catalog_items = { "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = ["M#*", "P#*", "R#*"] } }

  # Of a token: the day, and nothing else.
  note_use = {
    Sid      = "NoteUse"
    Effect   = "Allow"
    Action   = "dynamodb:UpdateItem"
    Resource = aws_dynamodb_table.catalog.arn
    Condition = { "ForAllValues:StringEquals" = {
      "dynamodb:Attributes"  = ["PK", "SK", "used"]
      "dynamodb:LeadingKeys" = ["A"]
    } }
  }

  statements = {
    discovery = []

    versions = [
      {
        Sid       = "ReadCatalog"
        Effect    = "Allow"
        Action    = "dynamodb:Query"
        Resource  = aws_dynamodb_table.catalog.arn
        Condition = local.catalog_items
      },
      {
        Sid       = "ReadWithToken" # both in one request; and no token but by its ID, for A cannot be listed
        Effect    = "Allow"
        Action    = "dynamodb:BatchGetItem"
        Resource  = aws_dynamodb_table.catalog.arn
        Condition = { "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = ["A", "M#*", "P#*", "R#*"] } }
      },
      local.note_use,
    ]

    download = [
      {
        Sid       = "ReadCatalog"
        Effect    = "Allow"
        Action    = "dynamodb:GetItem"
        Resource  = aws_dynamodb_table.catalog.arn
        Condition = local.catalog_items
      },
      {
        Sid       = "ReadWithToken" # as for versions
        Effect    = "Allow"
        Action    = "dynamodb:BatchGetItem"
        Resource  = aws_dynamodb_table.catalog.arn
        Condition = { "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = ["A", "M#*", "P#*", "R#*"] } }
      },
      local.note_use,
      # The function makes no request to S3; the URLs that it signs carry its rights.
      {
        Sid      = "SignUrls"
        Effect   = "Allow"
        Action   = "s3:GetObject"
        Resource = [for folder in ["mirror", "modules", "providers"] : "${local.bucket_arn}/registry/${folder}/*"]
      },
    ]

    catalog = [
      {
        Sid    = "ReadCatalog" # modules and providers of this registry, and the directory
        Effect = "Allow"
        Action = [
          "dynamodb:GetItem",
          "dynamodb:Query",
        ]
        Resource  = aws_dynamodb_table.catalog.arn
        Condition = { "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = ["D#*", "M#*", "P#*"] } }
      },
      {
        Sid       = "ReadWithToken" # as for versions
        Effect    = "Allow"
        Action    = "dynamodb:BatchGetItem"
        Resource  = aws_dynamodb_table.catalog.arn
        Condition = { "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = ["A", "D#*", "M#*", "P#*"] } }
      },
      local.note_use,
      # What was read from archives, and no archive. Without ListBucket, S3 answers 403 for what is not there.
      {
        Sid      = "ReadDocuments"
        Effect   = "Allow"
        Action   = "s3:GetObject"
        Resource = "${local.bucket_arn}/registry/contents/*"
      },
    ]

    fetch = [
      {
        Sid    = "ReadCatalog" # providers alone
        Effect = "Allow"
        Action = [
          "dynamodb:GetItem",
          "dynamodb:Query",
        ]
        Resource  = aws_dynamodb_table.catalog.arn
        Condition = { "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = ["P#*", "R#*"] } }
      },
      {
        Sid       = "ReadWithToken" # as for versions
        Effect    = "Allow"
        Action    = "dynamodb:BatchGetItem"
        Resource  = aws_dynamodb_table.catalog.arn
        Condition = { "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = ["A", "P#*", "R#*"] } }
      },
      local.note_use,
      {
        Sid      = "SignUrls" # as for download
        Effect   = "Allow"
        Action   = "s3:GetObject"
        Resource = [for folder in ["mirror", "providers"] : "${local.bucket_arn}/registry/${folder}/*"]
      },
      {
        Sid      = "AskForPackages"
        Effect   = "Allow"
        Action   = "sqs:SendMessage"
        Resource = one(aws_sqs_queue.fetch[*].arn)
      },
      {
        Sid    = "TakeEvents" # the event source mapping; and fetch itself, which says when to try again
        Effect = "Allow"
        Action = [
          "sqs:ChangeMessageVisibility",
          "sqs:DeleteMessage",
          "sqs:GetQueueAttributes",
          "sqs:ReceiveMessage",
        ]
        Resource = one(aws_sqs_queue.fetch[*].arn)
      },
      # Of any host, as in template.yaml, which cannot make an ARN of each pattern. The function only fetches what a
      # pattern names.
      {
        Sid    = "UploadToMirror"
        Effect = "Allow"
        Action = [
          "s3:GetObject", # HeadObject
          "s3:PutObject",
        ]
        Resource = "${local.bucket_arn}/mirror/*"
      },
      # Without it S3 answers 403, not 404, to a HeadObject of a missing object. HeadObject names no prefix, so a
      # prefix cannot be a condition.
      {
        Sid      = "LearnWhatIsMissing"
        Effect   = "Allow"
        Action   = "s3:ListBucket"
        Resource = local.bucket_arn
      },
    ]

    publish = [
      {
        Sid    = "TakeEvents" # the event source mapping; and publish itself, which says when to try again
        Effect = "Allow"
        Action = [
          "sqs:ChangeMessageVisibility",
          "sqs:DeleteMessage",
          "sqs:GetQueueAttributes",
          "sqs:ReceiveMessage",
        ]
        Resource = aws_sqs_queue.uploads.arn
      },
      {
        Sid      = "ContinueReconcile"
        Effect   = "Allow"
        Action   = "sqs:SendMessage"
        Resource = aws_sqs_queue.uploads.arn
      },
      # ListObjectsV2 and ListObjectVersions. Without ListBucket, S3 also answers 403, not 404, to a GetObject or
      # HeadObject of a missing object.
      {
        Sid    = "ListBucket"
        Effect = "Allow"
        Action = [
          "s3:ListBucket",
          "s3:ListBucketVersions",
        ]
        Resource = local.bucket_arn
      },
      {
        Sid      = "ReadUploads"
        Effect   = "Allow"
        Action   = "s3:GetObjectVersion" # GetObject of the version that an event names; the source of CopyObject
        Resource = [for prefix in local.inbox : "${local.bucket_arn}/${prefix}*"]
      },
      # HeadObject of a SHA256SUMS and its signature, GetObject of a mirror's document: files that belong to an
      # upload, in their current version.
      {
        Sid      = "FindReleaseFiles"
        Effect   = "Allow"
        Action   = "s3:GetObject"
        Resource = ["${local.bucket_arn}/mirror/*", "${local.bucket_arn}/providers/*"]
      },
      {
        Sid    = "TagUploads"
        Effect = "Allow"
        Action = [
          "s3:GetObjectVersionTagging", # GetObjectTagging, for PutObjectTagging replaces all tags
          "s3:PutObjectVersionTagging", # PutObjectTagging of an outcome
        ]
        Resource = [for prefix in local.inbox : "${local.bucket_arn}/${prefix}*"]
      },
      {
        Sid    = "WriteRegistry"
        Effect = "Allow"
        Action = [
          "s3:GetObject", # GetObject and HeadObject, always of the current version
          "s3:PutObject", # PutObject, with If-None-Match where it creates; the target of CopyObject
        ]
        Resource = "${local.bucket_arn}/registry/*"
      },
      {
        Sid    = "WriteCatalog"
        Effect = "Allow"
        Action = [
          "dynamodb:DeleteItem", # TransactWriteItems, which has deletes and puts alone
          "dynamodb:GetItem",
          "dynamodb:PutItem", # TransactWriteItems, too
          "dynamodb:Query",
        ]
        Resource  = aws_dynamodb_table.catalog.arn
        Condition = local.catalog_items
      },
      {
        Sid    = "WriteDirectory" # in which lists and searches look
        Effect = "Allow"
        Action = [
          "dynamodb:BatchGetItem",
          "dynamodb:GetItem",
          "dynamodb:PutItem",    # TransactWriteItems, which has puts and updates alone
          "dynamodb:UpdateItem", # TransactWriteItems, too
        ]
        Resource  = aws_dynamodb_table.catalog.arn
        Condition = { "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = ["D#*"] } }
      },
      # A Scan has no leading keys, so it also meets other items in the table. Of them it may read only these
      # attributes.
      {
        Sid      = "WalkCatalog"
        Effect   = "Allow"
        Action   = "dynamodb:Scan"
        Resource = aws_dynamodb_table.catalog.arn
        Condition = {
          StringEquals                = { "dynamodb:Select" = "SPECIFIC_ATTRIBUTES" }
          "ForAllValues:StringEquals" = { "dynamodb:Attributes" = ["PK", "SK", "revision"] }
        }
      },
      {
        Sid    = "Sign"
        Effect = "Allow"
        Action = [
          "kms:DescribeKey",
          "kms:GetPublicKey",
          "kms:Sign",
        ]
        Resource = local.signing_key_arn
      },
      {
        Sid      = "Announce"
        Effect   = "Allow"
        Action   = "sns:Publish"
        Resource = aws_sns_topic.outcomes.arn
      },
    ]

    login = concat([
      {
        Sid    = "KeepTokensAndRules"
        Effect = "Allow"
        Action = [
          "dynamodb:DeleteItem",
          "dynamodb:GetItem",
          "dynamodb:PutItem",
          "dynamodb:Query",
        ]
        Resource  = aws_dynamodb_table.catalog.arn
        Condition = { "ForAllValues:StringEquals" = { "dynamodb:LeadingKeys" = ["A", "T"] } }
      },
      {
        Sid    = "KeepTickets" # of logins that are under way
        Effect = "Allow"
        Action = [
          "dynamodb:DeleteItem", # which returns what was there
          "dynamodb:PutItem",
        ]
        Resource  = aws_dynamodb_table.catalog.arn
        Condition = { "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = ["C#*"] } }
      },
      ], var.login_client_secret_name == "" ? [] : [
      {
        Sid      = "ReadSecret" # Systems Manager decrypts with aws/ssm for whoever may read
        Effect   = "Allow"
        Action   = "ssm:GetParameter"
        Resource = "arn:${local.partition}:ssm:${local.region}:${local.account}:parameter${var.login_client_secret_name}"
      },
    ])
  }
}

resource "aws_iam_role" "function" {
  for_each = local.functions

  name                 = "${var.bucket_name}-${each.key}" # the policies of bucket and key know publish by its name
  permissions_boundary = local.permissions_boundary
  tags                 = local.tags

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect    = "Allow"
        Principal = { Service = "lambda.amazonaws.com" }
        Action    = "sts:AssumeRole"
      },
    ]
  })
}

resource "aws_iam_role_policy" "function" {
  for_each = local.functions

  name = each.key
  role = aws_iam_role.function[each.key].name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [
        {
          Sid      = "Log" # Lambda itself
          Effect   = "Allow"
          Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
          Resource = "${aws_cloudwatch_log_group.function[each.key].arn}:*"
        },
      ],
      local.statements[each.key],
      lookup(local.enterprise_statements, each.key, []),
    )
  })
}

resource "aws_iam_role" "reconcile" {
  name                 = "${var.bucket_name}-reconcile"
  permissions_boundary = local.permissions_boundary
  tags                 = local.tags

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect    = "Allow"
        Principal = { Service = "scheduler.amazonaws.com" }
        Action    = "sts:AssumeRole"
        Condition = { StringEquals = { "aws:SourceAccount" = local.account } }
      },
    ]
  })
}

resource "aws_iam_role_policy" "reconcile" {
  name = "reconcile"
  role = aws_iam_role.reconcile.name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "Start"
        Effect   = "Allow"
        Action   = "lambda:InvokeFunction"
        Resource = aws_lambda_function.this["publish"].arn
      },
    ]
  })
}

# Attach it to those who publish in one namespace. Keys under keys/ decide whose signatures the namespace trusts; if
# authors should not decide that, remove that line.
resource "aws_iam_policy" "uploader" {
  count = local.has_uploader ? 1 : 0

  name        = "${var.bucket_name}-upload-${var.uploader_namespace}"
  description = "Uploads to the namespace ${var.uploader_namespace} of the registry ${var.bucket_name}"
  tags        = local.tags

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid    = "Upload"
        Effect = "Allow"
        Action = ["s3:PutObject", "s3:AbortMultipartUpload"]
        Resource = [
          "${local.bucket_arn}/keys/${var.uploader_namespace}/*",
          "${local.bucket_arn}/modules/${var.uploader_namespace}/*",
          "${local.bucket_arn}/providers/${var.uploader_namespace}/*",
        ]
      },
      {
        Sid    = "LearnTheOutcome"
        Effect = "Allow"
        Action = ["s3:GetObjectTagging", "s3:GetObjectVersionTagging"]
        Resource = [
          "${local.bucket_arn}/keys/${var.uploader_namespace}/*",
          "${local.bucket_arn}/modules/${var.uploader_namespace}/*",
          "${local.bucket_arn}/providers/${var.uploader_namespace}/*",
        ]
      },
      {
        Sid    = "ReadTheReasons"
        Effect = "Allow"
        Action = "s3:GetObject"
        Resource = [
          "${local.bucket_arn}/registry/outcomes/keys/${var.uploader_namespace}/*",
          "${local.bucket_arn}/registry/outcomes/modules/${var.uploader_namespace}/*",
          "${local.bucket_arn}/registry/outcomes/providers/${var.uploader_namespace}/*",
        ]
      },
      {
        Sid      = "ListUploads" # aws s3 ls, and aws s3 sync
        Effect   = "Allow"
        Action   = "s3:ListBucket"
        Resource = local.bucket_arn
        Condition = {
          StringLike = {
            "s3:prefix" = [
              "keys/${var.uploader_namespace}/*",
              "modules/${var.uploader_namespace}/*",
              "providers/${var.uploader_namespace}/*",
            ]
          }
        }
      },
    ]
  })

  lifecycle {
    precondition {
      condition     = var.uploader_namespace != ""
      error_message = "create_uploader_policy needs uploader_namespace."
    }
  }
}

# Attach it to those who deprecate, withdraw, verify and so on with the larder command. The function does the work
# with its own rights, so they need no other rights.
resource "aws_iam_policy" "operator" {
  name        = "${var.bucket_name}-operate"
  description = "Operates the registry ${var.bucket_name} with the larder command"
  tags        = local.tags

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "Ask"
        Effect   = "Allow"
        Action   = "lambda:InvokeFunction"
        Resource = aws_lambda_function.this["publish"].arn
      },
    ]
  })
}

# Attach it to those who make and revoke tokens, and rules. It is a right of its own: with it one can let anybody read
# anything, and change nothing.
resource "aws_iam_policy" "access" {
  name        = "${var.bucket_name}-access"
  description = "Says who may read the registry ${var.bucket_name}, with the larder command"
  tags        = local.tags

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "Ask"
        Effect   = "Allow"
        Action   = "lambda:InvokeFunction"
        Resource = aws_lambda_function.this["login"].arn
      },
    ]
  })
}
