import { GATEWAY } from '#domain/origin.ts'
import { deviceOwner, userOwner } from '#services/mqtt-access.ts'
import type { GatewayServices } from './services.ts'

/** Connects events to the components that act on them, which do not know each other. */
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
}: GatewayServices): void {
  events.on('deviceRegistered', ({ hardwareId }) => enrolment.unbar(hardwareId))
  events.on('deviceRemoved', ({ hardwareId }) => {
    enrolment.bar(hardwareId)
    broker.forget(deviceOwner(hardwareId), hardwareId, `dev/${hardwareId}/`)
  })
  events.on('positionWanted', ({ hardwareIds }) => {
    // if the request fails, the locks that wait for it fail
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
