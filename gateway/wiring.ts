import { GATEWAY } from '#domain/origin.ts'
import type { Carts } from '#services/carts/carts.ts'
import type { Commands } from '#services/commands/commands.ts'
import type { Configuration } from '#services/configuration/configuration.ts'
import type { Devices } from '#services/devices/devices.ts'
import type { Enrolment } from '#services/devices/enrolment.ts'
import type { QueuedMessage } from '#services/ingest/queued-message.ts'
import { deviceOwner, userOwner } from '#services/mqtt-access.ts'
import type { Origins } from '#services/origins.ts'
import type { BlockDamage } from '#services/telemetry/block-damage.ts'
import type { Users } from '#services/users.ts'
import type { Store } from '#store/store.ts'
import type { Events } from './events.ts'
import type { Mqtt } from './mqtt.ts'

interface Wired {
  events: Events
  store: Store<QueuedMessage>
  broker: Mqtt['broker']
  users: Users
  damage: BlockDamage
  devices: Devices
  carts: Pick<Carts, 'touch'>
  commands: Pick<Commands, 'locate'>
  origins: Origins
  enrolment: Enrolment
  groups: Configuration['groups']
  publisher: Configuration['publisher']
}

/** Connects events to the parts that act on them: parts do not know each other. */
export function wireEvents({
  events,
  store,
  broker,
  users,
  damage,
  devices,
  carts,
  commands,
  origins,
  enrolment,
  groups,
  publisher,
}: Wired): void {
  events.on('deviceRegistered', ({ hardwareId }) => enrolment.unbar(hardwareId))
  events.on('deviceRemoved', ({ hardwareId }) => {
    enrolment.bar(hardwareId)
    broker.forget(deviceOwner(hardwareId), hardwareId, `dev/${hardwareId}/`)
  })
  events.on('positionWanted', ({ hardwareIds }) => {
    // if it cannot be asked for, locks that wait for it fail
    origins.run(GATEWAY, () => commands.locate(hardwareIds)).catch(() => undefined)
  })
  events.on('devicePasswordIssued', ({ hardwareId }) => broker.forgetOwner(deviceOwner(hardwareId)))
  events.on('groupChanged', ({ hardwareId }) => broker.recheckOwner(deviceOwner(hardwareId)))
  events.on('keyRevoked', ({ userId }) => {
    if (users.has(userId)) broker.disconnectOwner(userOwner(userId))
    else broker.forgetOwner(userOwner(userId))
  })
  events.on('scopeChanged', ({ userId }) => broker.recheckOwner(userOwner(userId)))
  events.on('alertChanged', ({ alert }) => {
    if (alert.cart !== null) carts.touch(alert.cart)
  })
  store.on('unreadable', (blocks) => damage.report(blocks))
  store.on('damaged', () => damage.search())
  store.queue.on('usable', () => {
    devices.startDeletions()
    void groups.publishMissing()
    void publisher.publishDifferences()
  })
}
