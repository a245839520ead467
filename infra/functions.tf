locals {
  # The functions as `make build` leaves them: taken from a folder, or from a bucket.
  uploads = var.code_bucket == ""
  zips    = { for name in keys(local.functions) : name => "${coalesce(var.build_dir, "${path.module}/../build")}/${name}.zip" }

  functions = merge(local.fetch_function, {
    discovery = {
      description = "Service discovery, and the 404 of everything that is no route"
      memory      = 128
      timeout     = 5
      storage     = 512
      environment = {
        LARDER_LOGIN_ISSUER = var.login_issuer
      }
    }
    versions = {
      description = "Lists the versions of a module or a provider"
      memory      = 512 # a cold start is a TLS handshake, and processor time comes with memory
      timeout     = 10
      storage     = 512
      environment = {
        LARDER_TABLE        = aws_dynamodb_table.catalog.name
        LARDER_HOSTNAME     = local.host
        LARDER_AUTH         = var.read_access
        LARDER_LOGIN_ISSUER = var.login_issuer
      }
    }
    download = {
      description = "Says where to download a version of a module or a provider"
      memory      = 512 # as for versions
      timeout     = 10
      storage     = 512
      environment = {
        LARDER_TABLE        = aws_dynamodb_table.catalog.name
        LARDER_BUCKET       = aws_s3_bucket.registry.bucket
        LARDER_HOSTNAME     = local.host
        LARDER_AUTH         = var.read_access
        LARDER_LOGIN_ISSUER = var.login_issuer
        LARDER_URL_LIFETIME = var.url_lifetime
      }
    }
    catalog = {
      description = "Lists, searches and describes what there is"
      memory      = 512 # as for versions
      timeout     = 10
      storage     = 512
      environment = {
        LARDER_TABLE        = aws_dynamodb_table.catalog.name
        LARDER_BUCKET       = aws_s3_bucket.registry.bucket
        LARDER_HOSTNAME     = local.host
        LARDER_AUTH         = var.read_access
        LARDER_LOGIN_ISSUER = var.login_issuer
      }
    }
    publish = {
      description = "Takes uploads to listed versions"
      memory      = 1769 # one whole processor, which hashing and unpacking use up; a second would idle
      timeout     = 600  # an upload of 5 GiB, with as much to spare; docs/aws.md, "How large an upload may be"
      storage     = 6144 # an upload of 5 GiB, a module of 256 MiB unpacked and packed again, and room to spare
      environment = {
        LARDER_TABLE     = aws_dynamodb_table.catalog.name
        LARDER_BUCKET    = aws_s3_bucket.registry.bucket
        LARDER_HOSTNAME  = local.host
        LARDER_KMS_KEY   = local.signing_key_arn
        LARDER_QUEUE_URL = aws_sqs_queue.uploads.url
        LARDER_TOPIC_ARN = aws_sns_topic.outcomes.arn
      }
    }
    # Tokens for people who log in and for the identities of pipelines, and operators' requests about tokens. It
    # connects to the issuers that rules trust.
    login = {
      description = "Logs people in, and gives tokens"
      memory      = 512 # as for versions
      timeout     = 25  # issuers are waited for; the gateway waits for 30 seconds
      storage     = 512
      environment = {
        LARDER_TABLE                    = aws_dynamodb_table.catalog.name
        LARDER_HOST                     = local.host
        LARDER_LOGIN_ISSUER             = var.login_issuer
        LARDER_LOGIN_CLIENT_ID          = var.login_client_id
        LARDER_LOGIN_CLIENT_SECRET_NAME = var.login_client_secret_name
        LARDER_LOGIN_SCOPES             = var.login_scopes
      }
    }
  })

  # Only if the mirror pulls through. It answers the mirror's routes, and takes the messages that it has sent to the
  # queue. It connects to others than AWS, as login does.
  fetch_function = { for queue in aws_sqs_queue.fetch : "fetch" => {
    description = "Answers what is asked of the mirror, and fetches what it lacks from other registries"
    memory      = 512  # as for versions
    timeout     = 900  # a package of 5 GiB; the gateway waits for 30 seconds
    storage     = 6144 # such a package, and room to spare
    environment = {
      LARDER_TABLE            = aws_dynamodb_table.catalog.name
      LARDER_BUCKET           = aws_s3_bucket.registry.bucket
      LARDER_HOSTNAME         = local.host
      LARDER_AUTH             = var.read_access
      LARDER_LOGIN_ISSUER     = var.login_issuer
      LARDER_URL_LIFETIME     = var.url_lifetime
      LARDER_MIRROR_UPSTREAMS = var.mirror_upstreams
      LARDER_MIRROR_PLATFORMS = var.mirror_platforms
      LARDER_FETCH_QUEUE_URL  = queue.url
    }
  } }
}

resource "aws_lambda_function" "this" {
  for_each = local.functions

  function_name    = "${var.bucket_name}-${each.key}"
  description      = each.value.description
  filename         = local.uploads ? local.zips[each.key] : null
  source_code_hash = local.uploads ? try(filebase64sha256(local.zips[each.key]), null) : null
  s3_bucket        = local.uploads ? null : var.code_bucket
  s3_key           = local.uploads ? null : "${var.code_prefix}${each.key}.zip"
  runtime          = "provided.al2023"
  architectures    = ["arm64"]
  handler          = "bootstrap"
  role             = aws_iam_role.function[each.key].arn
  memory_size      = each.value.memory
  timeout          = each.value.timeout
  tags             = local.tags

  ephemeral_storage {
    size = each.value.storage
  }

  logging_config {
    log_format = "Text"
    log_group  = aws_cloudwatch_log_group.function[each.key].name
  }

  dynamic "vpc_config" {
    for_each = contains(local.in_vpc, each.key) ? [var.subnet_ids] : []

    content {
      subnet_ids         = vpc_config.value
      security_group_ids = var.security_group_ids
    }
  }

  dynamic "environment" {
    for_each = length(each.value.environment) > 0 ? [each.value.environment] : []

    content {
      variables = environment.value
    }
  }

  lifecycle {
    # Also checked when a saved plan is applied, which may happen in another folder.
    precondition {
      condition     = !local.uploads || fileexists(local.zips[each.key])
      error_message = "There is no ${local.zips[each.key]}: run \"make build\" first, or name its folder with build_dir, or the bucket with code_bucket. A saved plan is applied with the zips that it was made with."
    }
  }

  depends_on = [aws_iam_role_policy.function] # Lambda tries the role's rights to the network
}

# They exist before the functions. Otherwise Lambda would make its own, which never expire.
resource "aws_cloudwatch_log_group" "function" {
  for_each = local.functions

  name              = "/aws/lambda/${var.bucket_name}-${each.key}"
  retention_in_days = var.log_days
  kms_key_id        = local.log_key
  tags              = local.tags
}
