package main

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/larder-registry/larder/tools/awsstub/schema"
)

// provider answers as the AWS provider does, as far as the clients ask.
type provider struct {
	tfprotov5.ProviderServer
	own             *tfprotov5.Schema
	resources, data map[string]*tfprotov5.Schema
	buckets         changing
}

func newProvider(s *schema.Provider) (*provider, error) {
	own, err := s.Provider.Protocol()
	if err != nil {
		return nil, err
	}
	p := &provider{own: own}
	if p.resources, err = protocol(s.Resources); err != nil {
		return nil, err
	}
	p.data, err = protocol(s.Data)
	return p, err
}

func protocol(schemas map[string]schema.Schema) (map[string]*tfprotov5.Schema, error) {
	all := map[string]*tfprotov5.Schema{}
	for name, s := range schemas {
		var err error
		if all[name], err = s.Protocol(); err != nil {
			return nil, fmt.Errorf("schema.json: %s: %w", name, err)
		}
	}
	return all, nil
}

// GetMetadata says that there is nothing but the schema.
func (p *provider) GetMetadata(context.Context, *tfprotov5.GetMetadataRequest) (*tfprotov5.GetMetadataResponse, error) {
	return &tfprotov5.GetMetadataResponse{ServerCapabilities: &tfprotov5.ServerCapabilities{}}, nil
}

// GetProviderSchema is the schema.
func (p *provider) GetProviderSchema(context.Context, *tfprotov5.GetProviderSchemaRequest) (*tfprotov5.GetProviderSchemaResponse, error) {
	return &tfprotov5.GetProviderSchemaResponse{Provider: p.own, ResourceSchemas: p.resources, DataSourceSchemas: p.data}, nil
}

// GetResourceIdentitySchemas returns no schemas.
func (p *provider) GetResourceIdentitySchemas(context.Context, *tfprotov5.GetResourceIdentitySchemasRequest) (*tfprotov5.GetResourceIdentitySchemasResponse, error) {
	return &tfprotov5.GetResourceIdentitySchemasResponse{}, nil
}

// PrepareProviderConfig takes what the schema takes.
func (p *provider) PrepareProviderConfig(_ context.Context, r *tfprotov5.PrepareProviderConfigRequest) (*tfprotov5.PrepareProviderConfigResponse, error) {
	return &tfprotov5.PrepareProviderConfigResponse{PreparedConfig: r.Config}, nil
}

// ConfigureProvider connects to nothing.
func (p *provider) ConfigureProvider(context.Context, *tfprotov5.ConfigureProviderRequest) (*tfprotov5.ConfigureProviderResponse, error) {
	return &tfprotov5.ConfigureProviderResponse{}, nil
}

// StopProvider has nothing to stop.
func (p *provider) StopProvider(context.Context, *tfprotov5.StopProviderRequest) (*tfprotov5.StopProviderResponse, error) {
	return &tfprotov5.StopProviderResponse{}, nil
}

// ValidateResourceTypeConfig checks nothing: the client checks by the schema itself.
func (p *provider) ValidateResourceTypeConfig(context.Context, *tfprotov5.ValidateResourceTypeConfigRequest) (*tfprotov5.ValidateResourceTypeConfigResponse, error) {
	return &tfprotov5.ValidateResourceTypeConfigResponse{}, nil
}

// ValidateDataSourceConfig checks nothing either.
func (p *provider) ValidateDataSourceConfig(context.Context, *tfprotov5.ValidateDataSourceConfigRequest) (*tfprotov5.ValidateDataSourceConfigResponse, error) {
	return &tfprotov5.ValidateDataSourceConfigResponse{}, nil
}

// UpgradeResourceState takes a state as it is: it was written with the same schema.
func (p *provider) UpgradeResourceState(_ context.Context, r *tfprotov5.UpgradeResourceStateRequest) (*tfprotov5.UpgradeResourceStateResponse, error) {
	kind := p.resources[r.TypeName].ValueType()
	v, err := r.RawState.Unmarshal(kind)
	if err != nil {
		return nil, err
	}
	state, err := tfprotov5.NewDynamicValue(kind, v)
	return &tfprotov5.UpgradeResourceStateResponse{UpgradedState: &state}, err
}

// ReadResource finds every resource unchanged.
func (p *provider) ReadResource(_ context.Context, r *tfprotov5.ReadResourceRequest) (*tfprotov5.ReadResourceResponse, error) {
	return &tfprotov5.ReadResourceResponse{NewState: r.CurrentState, Private: r.Private}, nil
}

// ImportResourceState finds every resource, and knows only its id.
func (p *provider) ImportResourceState(_ context.Context, r *tfprotov5.ImportResourceStateRequest) (*tfprotov5.ImportResourceStateResponse, error) {
	s := p.resources[r.TypeName]
	found := fields{}
	for name, kind := range s.ValueType().(tftypes.Object).AttributeTypes {
		found[name] = tftypes.NewValue(kind, nil)
	}
	for _, b := range s.Block.BlockTypes {
		if b.Nesting != tfprotov5.SchemaNestedBlockNestingModeSingle {
			found[b.TypeName] = tftypes.NewValue(found[b.TypeName].Type(), []tftypes.Value{})
		}
	}
	found["id"] = tftypes.NewValue(tftypes.String, r.ID)
	state, err := dynamic(s, found)
	return &tfprotov5.ImportResourceStateResponse{ImportedResources: []*tfprotov5.ImportedResource{{TypeName: r.TypeName, State: state}}}, err
}

// PlanResourceChange marks values that are only known after the apply.
func (p *provider) PlanResourceChange(_ context.Context, r *tfprotov5.PlanResourceChangeRequest) (*tfprotov5.PlanResourceChangeResponse, error) {
	s := p.resources[r.TypeName]
	prior, err := object(s, r.PriorState)
	if err != nil {
		return nil, err
	}
	planned, err := object(s, r.ProposedNewState)
	if err != nil || planned == nil {
		return &tfprotov5.PlanResourceChangeResponse{PlannedState: r.ProposedNewState}, err
	}
	fill(s.Block, planned, unknown)
	plan(r.TypeName, prior, planned)
	state, err := dynamic(s, planned)
	return &tfprotov5.PlanResourceChangeResponse{PlannedState: state}, err
}

// ApplyResourceChange makes up the unknown values, or says why AWS would refuse the change.
func (p *provider) ApplyResourceChange(_ context.Context, r *tfprotov5.ApplyResourceChangeRequest) (*tfprotov5.ApplyResourceChangeResponse, error) {
	s := p.resources[r.TypeName]
	prior, err := object(s, r.PriorState)
	if err != nil {
		return nil, err
	}
	planned, err := object(s, r.PlannedState)
	if err != nil {
		return nil, err
	}
	if err := p.apply(r.TypeName, prior, planned); err != nil {
		return &tfprotov5.ApplyResourceChangeResponse{NewState: r.PriorState, Diagnostics: []*tfprotov5.Diagnostic{
			{Severity: tfprotov5.DiagnosticSeverityError, Summary: err.Error()},
		}}, nil
	}
	if planned == nil {
		return &tfprotov5.ApplyResourceChangeResponse{NewState: r.PlannedState}, nil
	}
	if err := settle(r.TypeName, s.Block, planned); err != nil {
		return nil, err
	}
	state, err := dynamic(s, planned)
	return &tfprotov5.ApplyResourceChangeResponse{NewState: state}, err
}

// ReadDataSource makes up the values that the configuration does not give.
func (p *provider) ReadDataSource(_ context.Context, r *tfprotov5.ReadDataSourceRequest) (*tfprotov5.ReadDataSourceResponse, error) {
	s := p.data[r.TypeName]
	v, err := object(s, r.Config)
	if err != nil {
		return nil, err
	}
	if err := settle(r.TypeName, s.Block, v); err != nil {
		return nil, err
	}
	state, err := dynamic(s, v)
	return &tfprotov5.ReadDataSourceResponse{State: state}, err
}
