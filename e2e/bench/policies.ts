const CALL = 'action == Action::"call_tool"';

/** Ten typical policies: groups, claims, single tools, one that reads an argument. */
export const BENCH_POLICIES = [
  `permit(principal in Group::"engineering", ${CALL}, resource in Backend::"b0");`,
  `permit(principal in Group::"support", ${CALL}, resource == Tool::"b0_tool_1");`,
  `permit(principal in Group::"admins", action, resource);`,
  `permit(principal, ${CALL}, resource in Backend::"b1") when { principal.claim_department == "finance" };`,
  `permit(principal in Group::"auditors", action == Action::"read_resource", resource);`,
  `permit(principal, action == Action::"get_prompt", resource) when { principal.claim_level > 5 };`,
  `forbid(principal, ${CALL}, resource == Tool::"b0_delete_everything") unless { principal in Group::"admins" };`,
  `forbid(principal, ${CALL}, resource) when { principal.claim_department == "contractors" };`,
  `@id("large-counts") @advice("ask for less") forbid(principal, ${CALL}, resource in Backend::"b0") when { context has arg_count && context.arg_count > 1000000 };`,
  `forbid(principal == Client::"mallory", action, resource);`,
];
