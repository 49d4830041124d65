import type { Carts } from '#services/carts/carts.ts'
import { MailReports } from '#services/mail-reports/mail-reports.ts'
import { DnsLookups } from '#services/notifications/dns-lookups.ts'
import { Mailer } from '#services/notifications/mailer.ts'
import { Outbox } from '#services/notifications/outbox.ts'
import { placeOfCart } from '#services/notifications/place.ts'
import { Notifiers } from '#services/notifiers.ts'
import type { Parties } from '#services/parties/parties.ts'
import type { Site } from '#services/site.ts'
import type { Summaries } from '#services/summaries/summaries.ts'
import { Webhooks } from '#services/webhooks.ts'
import type { Log } from '#shared/log.ts'
import type { Store } from '#store/store.ts'
import type { Config } from './config.ts'
import { reachableUrl } from './default-route.ts'
import type { Events } from './events.ts'

interface NotificationsDeps {
  store: Pick<Store, 'read' | 'write'>
  events: Events
  clock: ConstructorParameters<typeof Outbox>[0]['clock']
  log: Log
  config: Pick<Config, 'mail' | 'telegramUrl' | 'publicUrl' | 'host'>
  site: Site
  carts: Pick<Carts, 'find' | 'allNow'>
  summaries: Pick<Summaries, 'of'>
  clockConfirmation: { readonly isConfirmed: boolean }
  parties: Pick<Parties, 'ofCart'>
  /** Returns the address of the API, once it listens. */
  listeningUrl: () => string
}

/** Builds the delivery of alerts to programs and people, and its setup by an admin. */
export function createNotifications(deps: NotificationsDeps) {
  const { config, site, carts, parties, listeningUrl, summaries, clockConfirmation, ...base } = deps
  const reporting = { summaries, clockConfirmation }
  const outbox = new Outbox({ ...base, random: Math.random })
  const lookups = new DnsLookups()
  const webhooks = new Webhooks({ ...base, outbox, lookups })
  const mailer = new Mailer(config.mail)
  const notifiers = new Notifiers({
    ...base,
    outbox,
    lookups,
    site,
    mailer,
    telegramUrl: config.telegramUrl,
    baseUrl: async () => config.publicUrl ?? reachableUrl(config.host, listeningUrl()),
    placeOf: (cart) => placeOfCart(carts.find(cart), parties.ofCart(cart)),
  })
  const random = Math.random
  const mailReports = new MailReports({ ...base, ...reporting, mailer, random, site, carts })
  return { outbox, webhooks, notifiers, mailReports }
}
