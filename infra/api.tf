locals {
  # ANY, because a GET route does not take HEAD. The functions answer 405 in the registry's own words.
  routes = {
    "ANY /.well-known/terraform.json"                                       = "discovery"
    "ANY /v1/modules/{namespace}/{name}/{system}/versions"                  = "versions"
    "ANY /v1/modules/{namespace}/{name}/{system}/download"                  = "versions" # leads to the newest
    "ANY /v1/providers/{namespace}/{type}/versions"                         = "versions"
    "ANY /v1/modules/{namespace}/{name}/{system}/{version}"                 = "catalog"
    "ANY /v1/modules/{namespace}/{name}/{system}/{version}/download"        = "download"
    "ANY /v1/providers/{namespace}/{type}/{version}"                        = "catalog"
    "ANY /v1/providers/{namespace}/{type}/{version}/download/{os}/{arch}"   = "download"
    "ANY /v1/modules"                                                       = "catalog"
    "ANY /v1/modules/search"                                                = "catalog"
    "ANY /v1/modules/{namespace}"                                           = "catalog"
    "ANY /v1/modules/{namespace}/{name}"                                    = "catalog"
    "ANY /v1/modules/{namespace}/{name}/{system}"                           = "catalog"
    "ANY /v1/modules/{namespace}/{name}/{system}/downloads/summary"         = "catalog"
    "ANY /v1/providers"                                                     = "catalog"
    "ANY /v1/providers/{namespace}"                                         = "catalog"
    "ANY /v1/providers/{namespace}/{type}"                                  = "catalog"
    "ANY /v1/providers/{namespace}/{type}/{version}/docs"                   = "catalog"
    "ANY /v1/providers/{namespace}/{type}/{version}/docs/{category}/{slug}" = "catalog"
    "ANY /llms.txt"                                                         = "discovery"
    "ANY /mcp"                                                              = "catalog"
    "ANY /v1/mirror/{hostname}/{namespace}/{type}/index.json"               = "mirror-index"
    "ANY /v1/mirror/{hostname}/{namespace}/{type}/{document}"               = "mirror-document" # {version}.json

    # Without login_issuer the function says that there is nothing at the routes of login.
    "ANY /v1/token"          = "login"
    "ANY /v1/login"          = "login"
    "ANY /v1/login/callback" = "login"
    "ANY /v1/login/consent"  = "login"

    # A path with an encoded slash may come here and look like another route. So this function has no rights.
    "$default" = "discovery"
  }

  # What routes lead to. The mirror's integrations stay when they change their function: the gateway does not delete
  # an integration that a route leads to, and Terraform deletes before it changes what stays.
  integrations = {
    discovery       = "discovery"
    versions        = "versions"
    download        = "download"
    catalog         = "catalog"
    login           = "login"
    mirror-index    = local.has_upstreams ? "fetch" : "versions"
    mirror-document = local.has_upstreams ? "fetch" : "download"
  }

  # Callers without a token ask for these routes. Each request makes the function write, or wait for an issuer. A
  # login takes three requests, a pipeline's job one. So this is enough for about a thousand people and many jobs at
  # once.
  throttles = {
    "ANY /v1/token"          = { rate = 20, burst = 50 }
    "ANY /v1/login"          = { rate = 5, burst = 20 }
    "ANY /v1/login/callback" = { rate = 5, burst = 20 }
    "ANY /v1/login/consent"  = { rate = 5, burst = 20 }
  }

  host = local.has_domain ? var.domain_name : trimprefix(aws_apigatewayv2_api.registry.api_endpoint, "https://")
}

resource "aws_apigatewayv2_api" "registry" {
  name                         = var.bucket_name
  description                  = "Larder, a registry for Terraform and OpenTofu"
  protocol_type                = "HTTP"
  disable_execute_api_endpoint = local.has_domain
  tags                         = local.tags

  # The checks of the module's variables are here, because this resource always exists and waits for little.
  lifecycle {
    precondition {
      condition     = var.client_truststore == "" || local.has_domain
      error_message = "client_truststore needs domain_name."
    }

    precondition {
      condition     = local.has_domain || var.certificate_arn == "" && var.hosted_zone_id == ""
      error_message = "certificate_arn and hosted_zone_id need domain_name."
    }

    precondition {
      condition     = var.login_issuer == "" || var.login_client_id != ""
      error_message = "login_issuer needs login_client_id."
    }

    precondition {
      condition     = length(var.subnet_ids) == 0 || length(var.security_group_ids) > 0
      error_message = "subnet_ids needs security_group_ids."
    }

    precondition {
      condition     = length(var.security_group_ids) == 0 || length(var.subnet_ids) > 0
      error_message = "security_group_ids needs subnet_ids."
    }

    precondition {
      condition     = var.code_prefix == "" || var.code_bucket != ""
      error_message = "code_prefix needs code_bucket."
    }

    precondition {
      condition     = var.signing_key_arn == "" || can(regex(":kms:${local.region}:", var.signing_key_arn))
      error_message = "signing_key_arn must be a key in ${local.region}, where this deploys."
    }

    precondition {
      condition     = var.alarm_topic_arn == "" || can(regex(":sns:${local.region}:", var.alarm_topic_arn))
      error_message = "alarm_topic_arn must be a topic in ${local.region}, where this deploys."
    }

    precondition {
      condition     = alltrue([for arn in [var.queue_key_arn, var.topic_key_arn, var.log_key_arn] : arn == "" || can(regex(":kms:${local.region}:", arn))])
      error_message = "queue_key_arn, topic_key_arn and log_key_arn must be keys in ${local.region}, where this deploys."
    }
  }
}

resource "aws_apigatewayv2_stage" "default" {
  api_id      = aws_apigatewayv2_api.registry.id
  name        = "$default"
  auto_deploy = true
  tags        = local.tags

  default_route_settings {
    throttling_rate_limit  = var.request_rate
    throttling_burst_limit = var.request_burst
  }

  dynamic "route_settings" {
    for_each = local.throttles

    content {
      route_key              = route_settings.key
      throttling_rate_limit  = route_settings.value.rate
      throttling_burst_limit = route_settings.value.burst
    }
  }

  depends_on = [aws_apigatewayv2_route.this] # it says something of some of them

  # No header is logged, and so no token. Nothing else that a client chooses is logged, because the gateway would not
  # escape it. The functions log the path.
  access_log_settings {
    destination_arn = aws_cloudwatch_log_group.api.arn
    format = jsonencode({
      requestId = "$context.requestId"
      time      = "$context.requestTime"
      ip        = "$context.identity.sourceIp"
      method    = "$context.httpMethod"
      route     = "$context.routeKey"
      status    = "$context.status"
      latency   = "$context.responseLatency"
      error     = "$context.integrationErrorMessage"
    })
  }
}

resource "aws_cloudwatch_log_group" "api" {
  # With this prefix, log delivery does not add each group to a resource policy, which is limited in size.
  name              = "/aws/vendedlogs/${var.bucket_name}/api"
  retention_in_days = var.log_days
  kms_key_id        = local.log_key
  tags              = local.tags
}

resource "aws_apigatewayv2_integration" "function" {
  for_each = local.integrations

  api_id                 = aws_apigatewayv2_api.registry.id
  integration_type       = "AWS_PROXY"
  integration_uri        = aws_lambda_function.this[each.value].arn
  payload_format_version = "2.0"
}

resource "aws_apigatewayv2_route" "this" {
  for_each = local.routes

  api_id    = aws_apigatewayv2_api.registry.id
  route_key = each.key
  target    = "integrations/${aws_apigatewayv2_integration.function[each.value].id}"
}

resource "aws_lambda_permission" "api" {
  for_each = toset(values(local.integrations))

  statement_id  = "api"
  function_name = aws_lambda_function.this[each.key].function_name
  action        = "lambda:InvokeFunction"
  principal     = "apigateway.amazonaws.com"
  source_arn    = "${aws_apigatewayv2_api.registry.execution_arn}/*"
}

resource "aws_apigatewayv2_domain_name" "registry" {
  count = local.has_domain ? 1 : 0

  domain_name = var.domain_name
  tags        = local.tags

  domain_name_configuration {
    certificate_arn = var.certificate_arn
    endpoint_type   = "REGIONAL"
    security_policy = "TLS_1_2"
  }

  dynamic "mutual_tls_authentication" {
    for_each = var.client_truststore != "" ? [var.client_truststore] : []

    content {
      truststore_uri = mutual_tls_authentication.value
    }
  }

  lifecycle {
    precondition {
      condition     = var.certificate_arn != ""
      error_message = "domain_name needs certificate_arn."
    }

    precondition {
      condition     = var.certificate_arn == "" || can(regex(":acm:${local.region}:", var.certificate_arn))
      error_message = "certificate_arn must be a certificate in ${local.region}, where this deploys."
    }
  }
}

# Without a mapping key it is the root, where clients look for /.well-known/terraform.json.
resource "aws_apigatewayv2_api_mapping" "registry" {
  count = local.has_domain ? 1 : 0

  api_id      = aws_apigatewayv2_api.registry.id
  domain_name = aws_apigatewayv2_domain_name.registry[0].id
  stage       = aws_apigatewayv2_stage.default.id
}

resource "aws_route53_record" "registry" {
  count = local.has_record ? 1 : 0

  zone_id         = var.hosted_zone_id
  name            = var.domain_name
  type            = "A"
  allow_overwrite = var.allow_overwrite

  alias {
    name                   = aws_apigatewayv2_domain_name.registry[0].domain_name_configuration[0].target_domain_name
    zone_id                = aws_apigatewayv2_domain_name.registry[0].domain_name_configuration[0].hosted_zone_id
    evaluate_target_health = false
  }

  lifecycle {
    precondition {
      condition     = local.has_domain && var.hosted_zone_id != ""
      error_message = "create_record needs domain_name and hosted_zone_id."
    }
  }
}
