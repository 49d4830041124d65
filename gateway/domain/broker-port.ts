import type { Uplink } from '#shared/wire/mqtt.ts'
import type { SessionChange } from './mqtt-sessions.ts'

export type LoginResult<Login> =
  /**
   * `owner` identifies the user or device: a session of one owner is never taken up by another. Its client ids are its
   * own, unless nobody else can log in with this one, which has no slash then.
   */
  | { ok: true; login: Login; owner: string; isClientIdUnique?: boolean }
  /** `isAuthentic`: its credentials are right, and still it may not come in now. */
  | { ok: false; reason: string; isAuthentic?: boolean }

/** Messages that were read in place, from bytes that came together. */
export interface TelemetryRun {
  /** How many it took. */
  readonly rows: number
  /** Takes the message whose payload lies there; false for one that is not plain. */
  add(from: number, to: number): boolean
  /** Where the payload of each begins and ends. */
  startOf(place: number): number
  endOf(place: number): number
  /** Sends what it took, at least one, on its way to the disk; nothing is added any more. */
  end(): void
}

/** What the broker asks about connections and messages; `Login` is the answerer's own and opaque to the broker. */
export interface BrokerPort<Login> {
  login(
    clientId: string,
    username: string | undefined,
    password: Buffer | undefined,
    address: string,
  ): LoginResult<Login>
  /** The login of a client that is not connected, whose last will is published after a restart. */
  resume(owner: string): Login | undefined
  /** Whether places that are kept for the few who must get in are for this owner too. */
  mayUseReserve(owner: string): boolean
  canSubscribe(owner: string, topicFilter: string): boolean
  canRead(owner: string, topic: string): boolean
  /** A kind of device message, a plain message for its subscribers, or undefined for a topic that is not theirs. */
  publishRight(login: Login, topic: string): Uplink | 'message' | undefined
  mayLeaveWill(login: Login, topic: string): boolean
  connected(login: Login): void
  /** Messages of these topics reach the client from now on; told once a connection for each topic filter. */
  subscribed(login: Login, topicFilters: readonly string[]): void
  disconnected(login: Login): void
  /** Its client id was taken from it in a contest; `takeovers` is how many are known of now that were not before. */
  contested(login: Login, takeovers: number): void
  /**
   * Takes a device's message: calls `onStored` when it and the changes are on the disk, or `onRefused`, which ends the
   * connection. Calls `onStored` at once for a message that has nothing to store: then the changes are not written.
   * Calls `onDropped` at once for one that is to be acknowledged and reach nobody.
   * Returns how many things the message holds (samples, events), at least 1.
   */
  receive(
    login: Login,
    uplinked: { level: Uplink; payload: Buffer; qos: 0 | 1 | 2; isWill: boolean },
    changes: readonly SessionChange[],
    onStored: () => void,
    onRefused: (reason: string) => void,
    onDropped: () => void,
  ): number
  /** A message is not taken: its topic is not the login's, or it is too long. Its connection ends. */
  refused(login: Login, message: { topic: string; payload: Buffer }, reason: string): void
  /** The topic of the login's own telemetry; undefined while it has none. */
  telemetryTopic(login: Login): string | undefined
  /**
   * Begins to read telemetry of the login in place; undefined while each message has to be looked at by `receive`.
   * Calls `onStored` or `onRefused` as `receive` does, for `count` messages of the run, of which the first is at
   * `from`.
   */
  beginRun(
    login: Login,
    bytes: Buffer,
    onStored: (from: number, count: number) => void,
    onRefused: (reason: string, count: number) => void,
  ): TelemetryRun | undefined
  /** Why and for how long an owner is not to be read, because of what its messages held. */
  debtOf(owner: string): { reason: string; waitMs: number } | undefined
}
