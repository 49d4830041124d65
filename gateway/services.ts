import { deviceTypes as builtInTypes } from '#devices/all.ts'
import { readMachineIds } from '#host/machine-ids.ts'
import { FirstAdminKey } from '#services/admin-key.ts'
import { Alerts } from '#services/alerts/alerts.ts'
import { AuditContext } from '#services/audit-context.ts'
import { Backups } from '#services/backups.ts'
import type { Cart } from '#services/cart.ts'
import { CartNotesStore } from '#services/carts/cart-notes-store.ts'
import { Carts } from '#services/carts/carts.ts'
import { VisibleCarts } from '#services/carts/visible-carts.ts'
import { ZoneExempts } from '#services/carts/zone-exempts.ts'
import { type ClockOverrides, createClock, createClockTrust } from '#services/clock/clocks.ts'
import { createCommands } from '#services/commands/create-commands.ts'
import { createConfiguration } from '#services/configuration/configuration.ts'
import { CourseDrawing } from '#services/course.ts'
import { DatabaseCheck } from '#services/database-check.ts'
import { Devices } from '#services/devices/devices.ts'
import { Enrolment } from '#services/devices/enrolment.ts'
import { DeviceImport } from '#services/devices/import.ts'
import { Fleet } from '#services/fleet.ts'
import { HostIdentity } from '#services/host-identity.ts'
import { Ingest } from '#services/ingest/ingest.ts'
import type { QueuedMessage } from '#services/ingest/queued-message.ts'
import { createLocks } from '#services/locks/locks.ts'
import { Messages } from '#services/messages/messages.ts'
import { ReadyTexts } from '#services/messages/ready-texts.ts'
import { Parties } from '#services/parties/parties.ts'
import { createPeople } from '#services/people/people.ts'
import { Presence } from '#services/presence.ts'
import { Recall } from '#services/recall/recall.ts'
import { Repairs } from '#services/repairs.ts'
import { Reports } from '#services/reports.ts'
import type { Restores } from '#services/restores.ts'
import { Erasures } from '#services/retention/erasures.ts'
import { EventGrowth } from '#services/retention/event-growth.ts'
import { Pace } from '#services/rounds/pace.ts'
import { Rounds } from '#services/rounds/rounds.ts'
import { ServiceBook } from '#services/service/service-book.ts'
import { SetUpBackups } from '#services/set-up-backups.ts'
import { Site } from '#services/site.ts'
import { Summaries } from '#services/summaries/summaries.ts'
import { BlockDamage } from '#services/telemetry/block-damage.ts'
import { createTelemetry } from '#services/telemetry/telemetry.ts'
import { Tracks } from '#services/tracks.ts'
import { Trips } from '#services/trips.ts'
import { Users } from '#services/users.ts'
import { ZoneSwitches } from '#services/zones/switches.ts'
import { AdminKeyFile } from '#shared/admin-key-file.ts'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { ClientAddresses } from '#shared/http/client-address.ts'
import type { Log } from '#shared/log.ts'
import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import { Store } from '#store/store.ts'
import type { OnUpgrade } from '#store/upgrade/upgrade.ts'
import { createBudgets } from './budgets.ts'
import type { Config } from './config.ts'
import { Events } from './events.ts'
import { createMqtt } from './mqtt.ts'
import { createNotifications } from './notifications.ts'
import { createReplication } from './replication.ts'
import { createTls } from './tls.ts'

export interface Overrides extends ClockOverrides {
  /** False sends all messages through Aedes, to compare the results. */
  hasFastLane?: boolean
  /** Replaces the `/` below which the host is identified. */
  machineRoot?: string
  /** Replaces the folder with the build of the app. */
  dashboardDir?: string
  /** Replaces the folders where disks are mounted. */
  stickRoots?: readonly string[]
  tickMs?: number
  /** Called for each step of an upgrade of the database, for monitors that limit the time of a start. */
  onUpgrade?: OnUpgrade
}

/** Services of a gateway below HTTP and WebSockets. */
export type GatewayServices = ReturnType<typeof createServices>

/** Builds the store, the broker and the services between them. `listeningUrl` is called once HTTP listens. */
export function createServices(
  config: Config,
  log: Log,
  overrides: Overrides & { restores: Restores },
  listeningUrl: () => string,
) {
  const { hasFastLane = true, tickMs, machineRoot, restores } = overrides
  const clocks = createClock(overrides)
  const { clock } = clocks
  const events = new Events(log)
  const origins = new AuditContext()
  const store = new Store<QueuedMessage>(config, log, () => ({ ...origins.current, atMs: clock.nowMs() }))
  const records = { store, events, clock, log }
  const fleet = new Fleet()
  const users = new Users(records)
  const site = new Site(records)
  const presence = new Presence(events, clock)
  const addresses = new ClientAddresses(config.trustedProxies)
  const base = { ...records, config, origins, fleet, users, site, presence, addresses }
  const budgets = createBudgets(config, clock)
  const keyFile = new AdminKeyFile(config.dataDir)
  const firstAdminKey = new FirstAdminKey({ ...base, file: keyFile, givenKey: config.adminApiKey })
  const people = createPeople({ ...base, ...budgets, firstAdminKey })
  const clockTrust = createClockTrust({ ...base, ...clocks, confirmedBy: config.clockConfirmedBy })

  const mqtt = createMqtt({ ...base, budgets, hasFastLane })
  const { broker } = mqtt
  const configuration = createConfiguration({ ...base, downlink: broker, builtInTypes })
  const { geofences } = configuration
  const maintenance = new SerialQueue()
  const damage = new BlockDamage({ ...base, maintenance })
  const devices = new Devices({ ...base, ...configuration, damage, maintenance })
  const enrolment = new Enrolment({ ...base, ...config.enrolment })
  const cartNotes = new CartNotesStore(base)
  const { startedAtMs } = clocks
  const carts = new Carts({ ...base, geofences, startedAtMs, tickMs: tickMs, notes: cartNotes })
  const commands = createCommands({ ...base, ...configuration, ...budgets, carts, downlink: broker })
  const { delivery } = commands
  const recall = new Recall({ ...base, ...commands, deviceTypes: configuration.deviceTypes })
  const notClosedOf = (kind: AlertKind) => alerts.notClosedOf(kind)
  const locks = createLocks({ ...base, ...configuration, ...commands, ...clockTrust, carts, notClosedOf })
  const erasures = new Erasures(base)
  const parties = new Parties({ ...base, ...configuration, ...commands, ...clockTrust, carts, erasures })
  const machine = new HostIdentity({ ...base, readIds: () => readMachineIds(machineRoot) })
  const autoLockAtMs = (cart: Cart) => locks.autoLock.atMs(cart)
  const { intents, sync } = createReplication({
    ...base,
    ...configuration,
    ...commands,
    damage,
    maintenance,
    machine,
    cartReportOf: (hardwareId) => carts.reportJson(hardwareId, autoLockAtMs),
  })
  const telemetry = createTelemetry({ ...base, ...clockTrust, damage, maintenance, options: config }, sync)
  const zoneExempts = new ZoneExempts({ ...base, ...configuration })
  const zoneSwitches = new ZoneSwitches({ ...base, ...configuration })
  const rounds = new Rounds({ ...base, geofences })
  const pace = new Pace({ ...base, rounds, parties })
  const openAlertIdsOf = (key: string) => alerts.openAlertIdsOf(key)
  const visibleCarts = new VisibleCarts(carts, { autoLockAtMs, openAlertIdsOf, partyOf: (key) => parties.ofCart(key) })
  const reports = new Reports({ ...base, geofences, rounds })
  const serviceBook = new ServiceBook({ ...base, ...clockTrust, reports, carts, cartNotes, visibleCarts })
  const readyTexts = new ReadyTexts(base)
  const messages = new Messages({
    ...base,
    ...configuration,
    ...commands,
    recall,
    visibleCarts,
    rounds,
    readyTexts,
    parties,
  })
  const { dataDir, backup: settings } = config
  const backups = new Backups({ ...base, ...clockTrust, machine, dataDir, settings })
  const setUpBackups = new SetUpBackups({ ...base, restores, stickRoots: overrides.stickRoots })
  const tls = createTls(config, base)
  const alerts = new Alerts({
    ...base,
    ...commands,
    ...clockTrust,
    ...telemetry,
    ...tls,
    carts,
    course: {
      hasRecall: () => recall.active !== null,
      waitedMs: (cart, fromMs) => pace.waitedMs(cart, fromMs),
      dueServices: (cart) => serviceBook.dueOf(cart),
    },
    sync,
    downlink: broker,
    backups,
  })
  const eventGrowth = new EventGrowth(base)
  const databaseCheck = new DatabaseCheck(base)
  const isLocating = (hardwareId: string) => delivery.isLocating(hardwareId)
  const ingest = new Ingest({ ...base, ...clockTrust, geofences, isLocating })
  const summaries = new Summaries({ ...base, reports, rounds })
  const notifications = createNotifications({ ...base, ...clockTrust, carts, parties, summaries, listeningUrl })
  return {
    ...base,
    ...budgets,
    ...people,
    ...clockTrust,
    ...configuration,
    ...commands,
    ...locks,
    ...telemetry,
    ...tls,
    ...notifications,
    kernelSync: clocks.kernelSync,
    startedAtMs,
    budgets,
    mqtt,
    broker,
    tls,
    damage,
    devices,
    enrolment,
    carts,
    cartNotes,
    visibleCarts,
    recall,
    readyTexts,
    messages,
    parties,
    machine,
    intents,
    sync,
    zoneExempts,
    zoneSwitches,
    rounds,
    backups,
    restores,
    setUpBackups,
    alerts,
    eventGrowth,
    databaseCheck,
    course: new CourseDrawing(base),
    deviceImport: new DeviceImport({ ...base, ...configuration, cartNotes }),
    repairs: new Repairs({
      ...base,
      ...people,
      ...clockTrust,
      ...telemetry,
      ...notifications,
      machine,
      damage,
      backups,
      broker,
      tls,
      sync,
    }),
    pace,
    reports,
    summaries,
    serviceBook,
    tracks: new Tracks({ ...base, ...budgets }),
    trips: new Trips(base),
    erasures,
    keyFile,
    firstAdminKey,
    ingest,
  }
}
