terraform {
  required_version = ">= 1.15, < 2.0"
  required_providers {
    aws = {
      source                = "hashicorp/aws"
      version               = ">= 6.0"
      configuration_aliases = [aws.north, aws.south]
    }
    random = "~> 3.0"
    vault  = { source = "hashicorp/vault" }
  }
  backend "s3" {}
}

provider "aws" {
  region = var.region
}

locals {
  full = provider::aws::arn_parse("x")
}

resource "aws_vpc" "this" {
  cidr_block = "10.0.0.0/16"
  lifecycle {
    action_trigger {
      events  = [after_create]
      actions = [action.aws_lambda_invoke.notify]
    }
  }
}

resource "google_project" "p" {
  provider = google-beta.x
}

resource "terraform_data" "t" {}

data "http" "example" {
  url = "https://example.com"
}

ephemeral "vault_kv_secret_v2" "secret" {
  name = "x"
}

ephemeral "tls_key" "k" {
  provider = keys
}

action "aws_lambda_invoke" "notify" {
  config {
    function_name = "x"
  }
}

check "health" {
  data "dns_a_record_set" "d" {
    host = "example.com"
  }
  assert {
    condition     = true
    error_message = "It is ill."
  }
}

import {
  to = aws_vpc.this
  id = "vpc-1"
}

moved {
  from = aws_vpc.old
  to   = aws_vpc.this
}

removed {
  from = aws_subnet.gone
  lifecycle { destroy = false }
}

module "network" {
  source  = "example.com/acme/network/aws"
  version = "~> 2.0"
}

module "variable" {
  source = "./modules/${var.name}"
}

module "bare" {
  source = local.where
}
