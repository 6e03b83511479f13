/** Paths of the values in the answers of a provider with `nested`, as Slack has them. */
export const NESTED = {
  token_response_mapping: {
    access_token_path: 'authed_user.access_token',
    refresh_token_path: 'authed_user.refresh_token',
    expires_in_path: 'authed_user.expires_in',
    scope_path: 'authed_user.scope',
  },
  identity_from_token: { subject_path: 'authed_user.id', name_path: 'authed_user.profile.name' },
};
