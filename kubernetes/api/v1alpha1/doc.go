// Package v1alpha1 is the API of the operator: a [Fabric] with its intent, the plans
// for it and their approvals, and what is known of each device.
//
// No type here has a field for a secret, and no status, event or message may carry one.
//
// +kubebuilder:object:generate=true
// +groupName=roce-fabric.io
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:generate go tool controller-gen object crd paths=. output:crd:dir=../../config/crd

// GroupVersion is the group and version of all kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "roce-fabric.io", Version: "v1alpha1"}

// AddToScheme adds the package's kinds to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&Fabric{}, &FabricList{}, &FabricPlan{}, &FabricPlanList{}, &FabricPlanApproval{}, &FabricPlanApprovalList{},
		&SwitchStatus{}, &SwitchStatusList{}, &HostStatus{}, &HostStatusList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
