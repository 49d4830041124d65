/** Who has something done, for the audit log. */
export interface Origin {
  /** Of the key or the session; null for the gateway itself, an enrolling device and the head office. */
  readonly userId: string | null
  /** The network address of the caller; `head office` for its intents; null for the gateway itself. */
  readonly address: string | null
  /** Who acts on the tablet of this session. */
  readonly person: { readonly userId: string; readonly name: string } | null
  readonly sessionId: string | null
}

const NO_SESSION = { person: null, sessionId: null }
export const HEAD_OFFICE: Origin = { userId: null, address: 'head office', ...NO_SESSION }
export const GATEWAY: Origin = { userId: null, address: null, ...NO_SESSION }
