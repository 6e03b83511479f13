/** Fields of resources that are accepted without effect: maps `<kind> <path>` to their purpose. The reference prints them. */
export const RECORDED_ONLY: Readonly<Record<string, string>> = {
  'MCPGroup spec.description': 'people read it, and the management API gives it back',
};
