import type { Uplink } from '#shared/wire/mqtt.ts'
import type { SessionChange } from './mqtt-sessions.ts'

export type LoginResult<Login> =
  /**
   * `owner` identifies the user or device: only the same `owner` can resume a session. Client ids are separate per
   * `owner`, unless `isClientIdUnique`: then only this user or device can log in with the id, which contains no slash.
   */
  | { ok: true; login: Login; owner: string; isClientIdUnique?: boolean }
  /** `isAuthentic`: the credentials are right, but access is denied now. */
  | { ok: false; reason: string; isAuthentic?: boolean }

/** Batch of messages read in place, from bytes that arrived together. */
export interface TelemetryRun {
  readonly rows: number
  /** Takes the message whose payload lies in this range; false if it is not in the plain form. */
  add(from: number, to: number): boolean
  /** Return the beginning and the end of the payload of each message. */
  startOf(place: number): number
  endOf(place: number): number
  /** Sends the messages taken, at least one, to the disk; nothing may be added afterwards. */
  end(): void
}

/** Access rules and message sink of the broker; `Login` belongs to the implementation and is opaque to the broker. */
export interface BrokerPort<Login> {
  login(
    clientId: string,
    username: string | undefined,
    password: Buffer | undefined,
    address: string,
  ): LoginResult<Login>
  /** Restores the login of a disconnected client, whose last will is published after a restart. */
  resume(owner: string): Login | undefined
  /** True if this `owner` may use the connections reserved for the few who must get in. */
  mayUseReserve(owner: string): boolean
  canSubscribe(owner: string, topicFilter: string): boolean
  canRead(owner: string, topic: string): boolean
  /** Returns the kind of a device message, `message` for a plain one; undefined for a topic barred for the login. */
  publishRight(login: Login, topic: string): Uplink | 'message' | undefined
  mayLeaveWill(login: Login, topic: string): boolean
  connected(login: Login): void
  /** Called once per connection for each topic filter, when its messages begin to reach the client. */
  subscribed(login: Login, topicFilters: readonly string[]): void
  disconnected(login: Login): void
  /** Called when connections took the client id from each other; `takeovers` counts the new ones. */
  contested(login: Login, takeovers: number): void
  /**
   * Processes a device's message: calls `onStored` when the message and the changes are on the disk, or `onRefused`,
   * which ends the connection. Calls `onStored` immediately for a message with nothing to store, and then does not
   * write the changes. Calls `onDropped` immediately for a message that must be acknowledged but not delivered. Returns
   * the number of samples and events in the message, at least 1.
   */
  receive(
    login: Login,
    uplinked: { level: Uplink; payload: Buffer; qos: 0 | 1 | 2; isWill: boolean },
    changes: readonly SessionChange[],
    onStored: () => void,
    onRefused: (reason: string) => void,
    onDropped: () => void,
  ): number
  /** Called for a rejected message: its topic is not allowed for the login, or it is too long. Its connection ends. */
  refused(login: Login, message: { topic: string; payload: Buffer }, reason: string): void
  /** Returns the topic of the login's own telemetry; undefined while it has none. */
  telemetryTopic(login: Login): string | undefined
  /**
   * Begins to read telemetry of the login in place; undefined while each message must go through `receive`. Calls
   * `onStored` or `onRefused` as `receive` does, for `count` messages of the batch, the first of which is at `from`.
   */
  beginRun(
    login: Login,
    bytes: Buffer,
    onStored: (from: number, count: number) => void,
    onRefused: (reason: string, count: number) => void,
  ): TelemetryRun | undefined
  /** Returns the reason and duration for which an `owner` must not be read, due to the content of its messages. */
  debtOf(owner: string): { reason: string; waitMs: number } | undefined
}
