import type { X509Certificate } from 'node:crypto'
import type { z } from 'zod'
import type { FirstAdminKey } from '#services/admin-key.ts'
import type { Alerts } from '#services/alerts/alerts.ts'
import type { AuditContext } from '#services/audit-context.ts'
import type { Backups } from '#services/backups.ts'
import type { CartNotesStore } from '#services/carts/cart-notes-store.ts'
import type { Carts } from '#services/carts/carts.ts'
import type { VisibleCarts } from '#services/carts/visible-carts.ts'
import type { ClockConfirmation } from '#services/clock/confirmation.ts'
import type { GatewayClock } from '#services/clock/gateway-clock.ts'
import type { Commands } from '#services/commands/commands.ts'
import type { DeviceConfigs } from '#services/configuration/device-configs.ts'
import type { DeviceTypes } from '#services/configuration/device-types.ts'
import type { Groups } from '#services/configuration/groups.ts'
import type { CourseDrawing } from '#services/course.ts'
import type { DatabaseCheck } from '#services/database-check.ts'
import type { Devices } from '#services/devices/devices.ts'
import type { Enrolment } from '#services/devices/enrolment.ts'
import type { DeviceImport } from '#services/devices/import.ts'
import type { Fleet } from '#services/fleet.ts'
import type { HostIdentity } from '#services/host-identity.ts'
import type { CartLocks } from '#services/locks/cart-locks.ts'
import type { MailReports } from '#services/mail-reports/mail-reports.ts'
import type { Messages } from '#services/messages/messages.ts'
import type { ReadyTexts } from '#services/messages/ready-texts.ts'
import type { Notifiers } from '#services/notifiers.ts'
import type { Parties } from '#services/parties/parties.ts'
import type { AccessRequests } from '#services/people/access-requests.ts'
import type { KeyGuard } from '#services/people/key-guard.ts'
import type { OpenResponses } from '#services/people/open-responses.ts'
import type { PairingCodes } from '#services/people/pairing-codes.ts'
import type { Persons } from '#services/people/persons.ts'
import type { Sessions } from '#services/people/sessions.ts'
import type { SetUp } from '#services/people/set-up.ts'
import type { SignIn } from '#services/people/sign-in.ts'
import type { Presence } from '#services/presence.ts'
import type { Recall } from '#services/recall/recall.ts'
import type { Repairs } from '#services/repairs.ts'
import type { Reports } from '#services/reports.ts'
import type { Restores } from '#services/restores.ts'
import type { Erasures } from '#services/retention/erasures.ts'
import type { Pace } from '#services/rounds/pace.ts'
import type { Rounds } from '#services/rounds/rounds.ts'
import type { ServiceBook } from '#services/service/service-book.ts'
import type { SetUpBackups } from '#services/set-up-backups.ts'
import type { Site } from '#services/site.ts'
import type { Summaries } from '#services/summaries/summaries.ts'
import type { BlockDamage } from '#services/telemetry/block-damage.ts'
import type { TelemetryDeletion } from '#services/telemetry/deletion.ts'
import type { DiskGuard } from '#services/telemetry/disk-guard.ts'
import type { TelemetryImport } from '#services/telemetry/import.ts'
import type { Tracks } from '#services/tracks.ts'
import type { Trips } from '#services/trips.ts'
import type { UnencryptedClients } from '#services/unencrypted-clients.ts'
import type { Users } from '#services/users.ts'
import type { Webhooks } from '#services/webhooks.ts'
import type { ZonesApplied } from '#services/zones/applied.ts'
import type { GeofenceTokens } from '#services/zones/geofence-tokens.ts'
import type { Geofences } from '#services/zones/geofences.ts'
import type { ZoneSwitches } from '#services/zones/switches.ts'
import type { Zones } from '#services/zones/zones.ts'
import type { Slots } from '#shared/budgets/slots.ts'
import type { ClientAddresses } from '#shared/http/client-address.ts'
import type { Log } from '#shared/log.ts'
import type { MqttClientName, MqttClientStatus, MqttStats } from '#shared/mqtt-status.ts'
import type { SyncStatus } from '#shared/sync-status.ts'
import type { CertificateStatus } from '#shared/tls.ts'
import type { SyncFileReceipt } from '#shared/wire/replication/sync-file.ts'
import type { Setting } from '#shared/wire/settings.ts'
import type { subscriptionsSchema } from '#shared/wire/system.ts'
import type { Store } from '#store/store.ts'
import type { Dashboard } from './dashboard/dashboard.ts'

/** Authentication, users and sessions. */
export interface PeopleDeps {
  users: Users
  sessions: Sessions
  persons: Persons
  pairingCodes: PairingCodes
  accessRequests: AccessRequests
  setUp: Pick<SetUp, 'makeKey'>
  firstAdminKey: Pick<FirstAdminKey, 'setupCodeFile'>
  signIn: Pick<SignIn, 'begin'>
  openAnswers: OpenResponses
  keyGuard: KeyGuard
  origins: AuditContext
}

export interface DevicesDeps {
  fleet: Fleet
  devices: Devices
  deviceImport: Pick<DeviceImport, 'run'>
  enrolment: Pick<Enrolment, 'open' | 'state'>
  presence: Presence
  groups: Groups
  deviceTypes: DeviceTypes
  deviceConfigs: DeviceConfigs
}

export interface ZonesDeps {
  geofences: Geofences
  zones: Zones
  zoneSwitches: Pick<ZoneSwitches, 'switch'>
  zonesApplied: ZonesApplied
  geofenceTokens: GeofenceTokens
}

export interface CommandsDeps {
  commands: Commands
  cartLocks: Pick<CartLocks, 'lock'>
  recall: Recall
  messages: Pick<Messages, 'send' | 'list' | 'requireVisible'>
  readyTexts: ReadyTexts
  parties: Parties
}

/** Course and carts, as staff work with them. */
export interface CourseDeps {
  site: Site
  course: CourseDrawing
  carts: Pick<Carts, 'touch' | 'all' | 'allNow' | 'seenBy'>
  visibleCarts: VisibleCarts
  cartNotes: Pick<CartNotesStore, 'change'>
  parties: Parties
  serviceBook: ServiceBook
  rounds: Pick<Rounds, 'running' | 'find'>
  pace: Pace
}

export interface AlertsDeps {
  alerts: Alerts
  webhooks: Webhooks
  notifiers: Notifiers
  mailReports: MailReports
}

/** Recorded data and its deletion. */
export interface RecordsDeps {
  store: Pick<Store, 'read' | 'readers' | 'health' | 'queue' | 'damage' | 'swappedBack'>
  telemetry: TelemetryDeletion
  telemetryImport: TelemetryImport
  tracks: Tracks
  trips: Trips
  reports: Reports
  summaries: Summaries
  erasures: Erasures
  /** Slots for long history reads, keyed by user. */
  downloads: Slots
}

/** Host, disk and clock. */
export interface MachineDeps {
  machine: Pick<HostIdentity, 'detail' | 'confirm'>
  damage: Pick<BlockDamage, 'summary'>
  databaseCheck: Pick<DatabaseCheck, 'last'>
  backups: Pick<Backups, 'status' | 'nextMs' | 'begin'>
  repairs: Pick<Repairs, 'all' | 'acceptLoss' | 'renewCertificate'>
  setUpBackups: Pick<SetUpBackups, 'requireNew' | 'sticks' | 'uploadBytes' | 'append' | 'list' | 'restore'>
  restores: Pick<Restores, 'state'>
  diskGuard: Pick<DiskGuard, 'use' | 'detail'>
  clock: Pick<GatewayClock, 'nowMs' | 'monotonicMs' | 'systemMs' | 'confirmedMs' | 'isTrusted' | 'doubt'>
  clockConfirmation: Pick<ClockConfirmation, 'confirm' | 'state'>
  /** Start in ms by the present clock, which may have been wrong at the start. */
  startedAtMs: () => number
}

/** Listeners and addresses of the gateway. */
export interface NetworkDeps {
  config: {
    corsOrigins: string[]
    /** True if HTTP is served in addition to HTTPS. */
    takesPlainHttp: boolean
    /** Base of links; undefined: the address that the request was sent to. */
    publicUrl: string | undefined
    /** Maximum number of broker connections. */
    mqttConnections: number
  }
  addresses: ClientAddresses
  /** Certificate of the gateway; undefined without TLS. */
  certificate: { isFor(host: string): boolean; readonly status: CertificateStatus } | undefined
  /** Clients that still use plain HTTP; undefined without TLS. */
  plainHttp: UnencryptedClients | undefined
  /** Returns the authority certificate that tablets must trust; undefined if the gateway has no own authority. */
  authority: () => X509Certificate | undefined
  /** Summary of the subscriptions on `/realtime`. */
  realtime: { summary(): z.infer<typeof subscriptionsSchema> }
  /** Broker data for admins. */
  broker: {
    status: {
      clients(): MqttClientName[]
      client(key: string): MqttClientStatus | undefined
      stats(): MqttStats
    }
    removeClient(key: string): Promise<{ isClosed: boolean; isSessionDiscarded: boolean } | undefined>
  }
  /** Resolves to URLs of the broker, the most likely first. */
  mqttAddresses: () => Promise<string[]>
  /** Replication to a hub; undefined without one. */
  sync:
    | {
        readonly status: SyncStatus
        /** Resolves to the status with freshly counted waiting rows. */
        countedStatus(): Promise<SyncStatus>
        audit(): Promise<void>
        exportLines(signal: AbortSignal): AsyncIterable<string>
        takeReceipt(receipt: SyncFileReceipt): Promise<void>
      }
    | undefined
}

/** Documents, app and metrics that the gateway serves. */
export interface ServedDeps {
  /** App at /app/. */
  dashboard: Pick<Dashboard, 'files'>
  /** Settings listed in `/docs`. */
  settings: readonly Setting[]
  /** Resolves to all metrics in the Prometheus text format. */
  metrics: () => Promise<string>
  log: Log
}

/** All dependencies of the API; each route names the groups that it uses. */
export type ApiDeps = PeopleDeps &
  DevicesDeps &
  ZonesDeps &
  CommandsDeps &
  CourseDeps &
  AlertsDeps &
  RecordsDeps &
  MachineDeps &
  NetworkDeps &
  ServedDeps
