import type { Uplink } from '../../shared/wire/mqtt.ts'

/** What the broker asks about connections and messages; `Session` is the answerer's own and opaque to the broker. */
export interface BrokerPort<Session> {
  login(
    clientId: string,
    username: string | undefined,
    password: Buffer | undefined,
    address: string,
  ): { ok: true; session: Session } | { ok: false; reason: string }
  canRead(session: Session, topicFilter: string): boolean
  /** The kind of message if the session may publish to the topic. */
  uplinkOf(session: Session, topic: string): Uplink | undefined
  /** Whether any client could ever be let read the topic; what nobody reads is not routed. */
  isReadable(topic: string): boolean
  connected(session: Session): void
  disconnected(session: Session): void
  /** Takes a message: calls `onStored` when it may be acknowledged, or `onRefused`, which ends the connection. */
  receive(
    session: Session,
    uplinked: { level: Uplink; payload: Buffer; qos: 0 | 1 | 2; isWill: boolean },
    onStored: () => void,
    onRefused: (reason: string) => void,
  ): void
}
