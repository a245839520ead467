# A registry under a host name of its own, with a certificate, alarms by e-mail and one team that uploads.
#
#   make build
#   terraform init && terraform apply -var domain=registry.example.com -var zone=example.com \
#     -var bucket=example-registry -var alarm_email=ops@example.com

data "aws_route53_zone" "this" {
  name = var.zone
}

resource "aws_acm_certificate" "registry" {
  domain_name       = var.domain
  validation_method = "DNS"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_route53_record" "validation" {
  for_each = {
    for option in aws_acm_certificate.registry.domain_validation_options : option.domain_name => option
  }

  zone_id         = data.aws_route53_zone.this.zone_id
  name            = each.value.resource_record_name
  type            = each.value.resource_record_type
  records         = [each.value.resource_record_value]
  ttl             = 300
  allow_overwrite = true # ACM asks for the same record each time that the account wants a certificate for the name
}

resource "aws_acm_certificate_validation" "registry" {
  certificate_arn         = aws_acm_certificate.registry.arn
  validation_record_fqdns = [for record in aws_route53_record.validation : record.fqdn]
}

resource "aws_sns_topic" "alarms" {
  name = "${var.bucket}-alarms"
}

resource "aws_sns_topic_subscription" "alarms" {
  topic_arn = aws_sns_topic.alarms.arn
  protocol  = "email"
  endpoint  = var.alarm_email
}

module "registry" {
  source = "../.."

  bucket_name        = var.bucket
  domain_name        = var.domain
  certificate_arn    = aws_acm_certificate_validation.registry.certificate_arn
  hosted_zone_id     = data.aws_route53_zone.this.zone_id
  uploader_namespace = "acme"
  alarm_topic_arn    = aws_sns_topic.alarms.arn
}
