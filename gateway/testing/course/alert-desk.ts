import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Events } from '#gateway/events.ts'
import { DnsLookups } from '#services/notifications/dns-lookups.ts'
import { Mailer, type MailSettings } from '#services/notifications/mailer.ts'
import type { CartPosition } from '#services/notifications/notification.ts'
import { Outbox } from '#services/notifications/outbox.ts'
import { Notifiers } from '#services/notifiers.ts'
import { Webhooks } from '#services/webhooks.ts'
import { createLog } from '#shared/log.ts'
import { DEFAULT_SITE_SETTINGS, type SiteSettings } from '#shared/site/settings.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import type { AlertEvent } from '#shared/wire/alerts.ts'
import { Store } from '#store/store.ts'
import type { StoredAlert } from '#store/tables/alerts.ts'

/** Delivery of alerts on a real store; the test opens the alerts. */
export class AlertDesk {
  readonly clock = Object.assign(new FakeClock(), { doubt: null, confirmedMs: Number.POSITIVE_INFINITY })
  readonly places = new Map<string, CartPosition>()
  readonly dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-alerts-'))
  readonly #mail: MailSettings | undefined
  settings: SiteSettings = DEFAULT_SITE_SETTINGS
  events!: Events
  store!: Store
  outbox!: Outbox
  webhooks!: Webhooks
  notifiers!: Notifiers
  #number = 0

  private constructor(mail: MailSettings | undefined) {
    this.#mail = mail
  }

  static async open(t: Pick<TestContext, 'after'>, mail?: MailSettings): Promise<AlertDesk> {
    const desk = new AlertDesk(mail)
    await desk.start()
    t.after(async () => {
      await desk.stop()
      rmSync(desk.dataDir, { recursive: true, force: true })
    })
    return desk
  }

  async start(): Promise<void> {
    const { clock } = this
    const log = createLog('silent')
    this.events = new Events(log)
    const options = { dataDir: this.dataDir, readerThreads: 1, writeQueueRows: 5000 }
    this.store = new Store(options, log)
    const base = { store: this.store, events: this.events, clock, log }
    this.outbox = new Outbox({ ...base, random: () => 0.5 })
    const lookups = new DnsLookups()
    this.webhooks = new Webhooks({ ...base, outbox: this.outbox, lookups })
    const settings = () => this.settings
    this.notifiers = new Notifiers({
      ...base,
      outbox: this.outbox,
      lookups,
      mailer: new Mailer(this.#mail),
      telegramUrl: 'http://127.0.0.1:9',
      baseUrl: async () => 'https://barn.example',
      placeOf: (cart) => this.places.get(cart),
      site: {
        get settings() {
          return settings()
        },
      },
    })
    await this.store.start()
    for (const part of [this.webhooks, this.notifiers]) part.load()
    await this.outbox.start()
  }

  async stop(): Promise<void> {
    await this.outbox.stop()
    await this.store.stop()
  }

  async restart(): Promise<void> {
    await this.stop()
    await this.start()
  }

  async describe(settings: Partial<SiteSettings>): Promise<void> {
    this.settings = { ...this.settings, ...settings }
    await this.store.write('saveSite', { settings: this.settings, nowMs: this.clock.nowMs() })
  }

  /** Returns an alert that is opened now. */
  alert(kind: AlertKind, cart: string | null, details: Record<string, unknown> = {}): StoredAlert {
    const openedAtMs = this.clock.nowMs()
    return {
      alertId: `alert-${++this.#number}`,
      kind,
      cart,
      hardwareId: cart,
      openedAtMs,
      details,
      closedAtMs: null,
      acknowledgedAtMs: null,
      acknowledgedBy: null,
      note: null,
      subject: '',
      awaitsEnd: false,
      endedAt: null,
    }
  }

  /** Writes an event of alerts in one transaction, and emits it. */
  async save(event: AlertEvent, ...alerts: StoredAlert[]): Promise<void> {
    const changes = alerts.map((alert) => ({ event, alert, sessionChanges: [], byUserId: null }))
    const others = { endedIds: [], idleCallSeqs: [], sessionChanges: [], closedDay: null, nowMs: this.clock.nowMs() }
    await this.store.write('saveAlerts', { changes, ...others })
    for (const alert of alerts) this.events.emit('alertChanged', { event, alert, atMs: others.nowMs })
  }

  async open(kind: AlertKind, cart: string | null, details?: Record<string, unknown>): Promise<StoredAlert> {
    const alert = this.alert(kind, cart, details)
    await this.save('opened', alert)
    return alert
  }

  async acknowledge(alert: StoredAlert): Promise<void> {
    const by = { userId: 'ann', name: 'Ann' }
    await this.save('acknowledged', {
      ...alert,
      acknowledgedAtMs: this.clock.nowMs(),
      acknowledgedBy: by,
    })
  }

  async close(alert: StoredAlert): Promise<void> {
    await this.save('closed', { ...alert, closedAtMs: this.clock.nowMs() })
  }
}
