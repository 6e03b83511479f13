import { Robot } from '../robot/robot.ts';

interface ClientInformation {
  readonly client_id: string;
}

interface SavedTokens {
  readonly access_token: string;
  readonly token_type: string;
  readonly refresh_token?: string | undefined;
}

/**
 * OAuth client state of a library, with a person who logs in by the robot browser. It has the members that the OAuth client providers of
 * all these libraries share.
 */
export class PersonAuth {
  readonly redirectUrl = 'http://127.0.0.1:1/callback';
  readonly clientMetadata = {
    client_name: 'A library',
    redirect_uris: [this.redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
  /** How often the person acted. */
  logins = 0;
  /** How often the client registered. */
  registrations = 0;
  saved: SavedTokens | undefined;
  /** Parameters of the last redirect back to the client. */
  answer = new URLSearchParams();
  readonly #user: string;
  readonly #robot = new Robot();
  #client: ClientInformation | undefined;
  #discovered: unknown;
  #verifier = '';
  #state = '';

  constructor(user: string) {
    this.#user = user;
  }

  readonly clientInformation = () => this.#client;
  readonly saveClientInformation = (client: ClientInformation): void => {
    if (client.client_id !== this.#client?.client_id) this.registrations += 1;
    this.#client = client;
  };
  readonly isClientInformationDynamicallyRegistered = () => true;
  readonly saveDiscoveryState = (state: unknown): void => {
    this.#discovered = state;
  };
  readonly discoveryState = () => this.#discovered as never;
  readonly tokens = () => this.saved;
  readonly saveTokens = (tokens: SavedTokens): void => {
    this.saved = tokens;
  };
  readonly saveCodeVerifier = (verifier: string): void => {
    this.#verifier = verifier;
  };
  readonly codeVerifier = () => this.#verifier;
  readonly state = () => (this.#state = crypto.randomUUID());
  readonly saveState = (): void => undefined;
  readonly storedState = () => this.#state;
  readonly redirectToAuthorization = async (url: URL): Promise<void> => {
    this.logins += 1;
    this.answer = (await this.#robot.login(url, { user: this.#user })).searchParams;
    if (this.answer.get('state') !== this.#state) throw new Error('the state is another one');
  };
  readonly invalidateCredentials = (scope: string): void => {
    if (scope === 'all' || scope === 'client') this.#client = undefined;
    if (scope === 'all' || scope === 'tokens') this.saved = undefined;
  };
}
