import { ConflictError } from '#shared/errors.ts'
import type { MqttClientName, MqttClientStatus } from '#shared/mqtt-status.ts'
import type { SyncStatus } from '#shared/sync-status.ts'
import { type Clock, DAY_MS, toIso } from '#shared/time.ts'
import type { CertificateStatus } from '#shared/tls.ts'
import {
  DAMAGE_CODES,
  type FindingCode,
  type FindingValues,
  namesValues,
  undoneValues,
} from '#shared/wire/machine/findings.ts'
import { isOnDiskOf } from '#store/backups/mount.ts'
import { isS3Target } from '#store/backups/s3/s3-address.ts'
import type { Store } from '#store/store.ts'
import type { Backups } from './backups.ts'
import type { ClockConfirmation } from './clock/confirmation.ts'
import type { HostIdentity } from './host-identity.ts'
import type { Notifiers } from './notifiers.ts'
import type { BlockDamage } from './telemetry/block-damage.ts'
import type { DiskGuard } from './telemetry/disk-guard.ts'
import { nameOfUse, type UnencryptedClients, type UseNames } from './unencrypted-clients.ts'

/** Fault that the gateway finds itself. */
export interface RepairFinding {
  code: FindingCode
  values: FindingValues
  /** Id for the action of the finding. */
  target?: string
}

interface RepairsDeps extends UseNames {
  store: Pick<Store, 'health' | 'damage' | 'swappedBack' | 'write'>
  machine: Pick<HostIdentity, 'detail'>
  clockConfirmation: Pick<ClockConfirmation, 'state'>
  diskGuard: Pick<DiskGuard, 'use'>
  damage: Pick<BlockDamage, 'summary'>
  backups: Pick<Backups, 'status'>
  notifiers: Pick<Notifiers, 'all'>
  broker: { status: { clients(): MqttClientName[]; client(key: string): MqttClientStatus | undefined } }
  tls: {
    certificate: { readonly status: CertificateStatus } | undefined
    plainHttp: UnencryptedClients | undefined
    reload: () => Promise<void>
  }
  sync: { readonly status: SyncStatus } | undefined
  config: { dataDir: string }
  clock: Clock
}

/** Time before its end at which a certificate should have been renewed. */
const SOON_MS = 30 * DAY_MS

/** States of the sync in which it does not continue without a person. */
const STOPPED_SYNC: readonly SyncStatus['state'][] = [
  'refused',
  'other_site',
  'stuck',
  'part_refused',
  'hub_full',
  'unreadable',
  'two_gateways',
]

/** Faults of this gateway as far as it finds them itself, and what it does about them on request. */
export class Repairs {
  readonly #deps: RepairsDeps

  constructor(deps: RepairsDeps) {
    this.#deps = deps
  }

  /** Returns the faults, in the order in which to fix them. */
  all(): RepairFinding[] {
    const { store, machine, clockConfirmation, diskGuard } = this.#deps
    const { isUsable, detail } = store.health
    const { state, usedBytes, budgetBytes } = diskGuard.use
    const undone = store.swappedBack
    return [
      ...(isUsable ? [] : [found('store_unusable', { detail: detail ?? '' })]),
      ...(machine.detail === null ? [] : [found('machine_other')]),
      ...(clockConfirmation.state === 'confirmed' ? [] : [found('clock_unconfirmed')]),
      ...(state === 'ok' ? [] : [found('disk_filling', { percent: Math.floor((100 * usedBytes) / budgetBytes) })]),
      ...this.#damage(),
      ...(undone === undefined ? [] : [found('upgrade_undone', undoneValues(undone))]),
      ...this.#backups(),
      ...this.#encryption(),
      ...this.#sync(),
      ...this.#recipients(),
    ]
  }

  /** Forgets repaired damage and permanent losses; returns the number of findings. */
  async acceptLoss(): Promise<number> {
    const { store } = this.#deps
    const accepted = store.damage.all.filter(({ outcome }) => outcome === 'lost' || outcome === 'mended')
    if (accepted.length === 0) return 0
    const after = { findings: accepted.map(({ place, outcome }) => `${place}: ${outcome}`) }
    await store.write('recordAuditOnly', { action: 'damage.accepted', target: 'damage', after })
    store.damage.accept(accepted)
    return accepted.length
  }

  /** Issues a certificate if one is due and reads it again. Throws `no_certificate`. */
  async renewCertificate(): Promise<CertificateStatus> {
    const { store, tls } = this.#deps
    if (tls.certificate === undefined)
      throw new ConflictError('no_certificate', 'this gateway has no certificate; see docs/security.md, TLS')
    await store.write('recordAuditOnly', { action: 'certificate.renewed', target: 'certificate', after: null })
    await tls.reload()
    return tls.certificate.status
  }

  #damage(): RepairFinding[] {
    const { store, damage } = this.#deps
    const { blocks } = damage.summary
    return [
      ...store.damage.all.map(({ place, outcome, detail }) => found(DAMAGE_CODES[outcome], { place, detail })),
      ...(blocks === 0 ? [] : [found('telemetry_damaged', { blocks })]),
    ]
  }

  #backups(): RepairFinding[] {
    const { backups, config } = this.#deps
    const { status } = backups
    if (status === null) return [found('backup_none')]
    const { target, lastGoodMs, sinceMs, isOverdue } = status
    const isNear = !isS3Target(target) && isOnDiskOf(config.dataDir, target)
    const near = isNear ? [found('backup_same_disk', { target })] : []
    if (lastGoodMs === null)
      return [
        isOverdue ? found('backup_never', { target, since_at: toIso(sinceMs) }) : found('backup_first', { target }),
        ...near,
      ]
    return [...(isOverdue ? [found('backup_overdue', { target, last_at: toIso(lastGoodMs) })] : []), ...near]
  }

  #encryption(): RepairFinding[] {
    const { tls, broker, clock } = this.#deps
    if (tls.certificate === undefined) return [found('certificate_none')]
    const { expiresAtMs, problem } = tls.certificate.status
    const until_at = toIso(expiresAtMs)
    const leftMs = expiresAtMs - clock.nowMs()
    const ends = problem === null ? [] : [found('certificate_not_renewed', { until_at, detail: problem })]
    if (problem === null && leftMs < SOON_MS)
      ends.push(found(leftMs < 0 ? 'certificate_expired' : 'certificate_ends', { until_at }))
    const uses = (tls.plainHttp?.all() ?? []).map((use) => `${nameOfUse(use, this.#deps) ?? use.id} (${use.address})`)
    const plain = broker.status
      .clients()
      .filter(({ key, isConnected }) => isConnected && broker.status.client(key)?.connection?.transport === 'tcp')
      .map(({ clientId }) => clientId)
    return [
      ...ends,
      ...(uses.length === 0 ? [] : [found('plain_http', namesValues(uses))]),
      ...(plain.length === 0 ? [] : [found('plain_mqtt', namesValues(plain))]),
    ]
  }

  #sync(): RepairFinding[] {
    const status = this.#deps.sync?.status
    if (status === undefined || !STOPPED_SYNC.includes(status.state)) return []
    return [found('sync_stopped', { host: status.host, state: status.state })]
  }

  #recipients(): RepairFinding[] {
    return this.#deps.notifiers.all().flatMap(({ notifierId, recipient, lastError }) => {
      if (lastError === null) return []
      return [{ ...found('recipient_failing', { recipient, detail: lastError }), target: notifierId }]
    })
  }
}

function found(code: FindingCode, values: FindingValues = {}): RepairFinding {
  return { code, values }
}
