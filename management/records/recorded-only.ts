/** Fields stored without any effect: path to reason. A field stands for all fields inside it. The reference prints the list. */
export const RECORDED_ONLY = {
  headers: 'they describe what the server takes: send header_forward to add a header',
  'oauth_config.skip_browser': 'a login begins when a person opens its URL (vmcp login)',
  'oauth_config.bearer_token.target': 'the token is sent in the Authorization header',
  'oauth_config.client_secret.target': 'the secret goes to the token endpoint alone',
  runtime_config: 'vmcp builds no image: packages are run by npx or uvx',
  container_name: 'what runs is named after its workload',
  container_labels: 'write labels into podTemplateSpec of its MCPServer',
  ignore_config: 'vmcp reads no list of ignored files',
} as const;

/** These fields only name the origin of an entry, so no warning names them. */
export const ORIGIN_ONLY = {
  registry_url: 'it says which registry file an entry came from',
  registry_api_url: 'it says which API of a registry an entry came from',
} as const;

export const RECORDED_BODY_FIELDS = {
  'createGroup description': 'people read it',
  'editGroup description': 'people read it',
} as const;
