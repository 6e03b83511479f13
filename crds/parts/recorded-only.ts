/** Fields of resources that are accepted and change nothing that runs, `<kind> <path>` to what they are for. The reference prints them. */
export const RECORDED_ONLY: Readonly<Record<string, string>> = {
  'MCPGroup spec.description': 'people read it, and the management API gives it back',
};
