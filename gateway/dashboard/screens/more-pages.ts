import type { ComponentType } from 'preact'
import type { HelpTopic } from '#dashboard/live/help-places.ts'
import { barnTexts } from '#dashboard/texts/barn.ts'
import { cartPathTexts } from '#dashboard/texts/cart-path.ts'
import { courseTexts } from '#dashboard/texts/course.ts'
import { dayTexts } from '#dashboard/texts/day.ts'
import { deviceTexts, groupTexts } from '#dashboard/texts/devices.ts'
import { backupTexts } from '#dashboard/texts/gateway/backups.ts'
import { encryptionTexts } from '#dashboard/texts/gateway/encryption.ts'
import { gatewayTexts } from '#dashboard/texts/gateway/gateway.ts'
import { moreTexts } from '#dashboard/texts/more.ts'
import { notifyTexts } from '#dashboard/texts/notify.ts'
import { paceTexts } from '#dashboard/texts/pace.ts'
import { replayTexts } from '#dashboard/texts/replay.ts'
import { siteTexts } from '#dashboard/texts/site.ts'
import { tabletTexts } from '#dashboard/texts/tablets.ts'
import { zonesTexts } from '#dashboard/texts/zones.ts'
import type { Role } from '#shared/wire/users.ts'

/** Headings of the list, in order. */
export const MORE_SECTIONS = ['day', 'course', 'carts', 'people', 'gateway'] as const
export type MoreSection = (typeof MORE_SECTIONS)[number]

/** Page below More, at `#/more/PATH`; the page itself parses the part after a further slash. */
export interface MorePage {
  path: string
  section: MoreSection
  title: () => string
  /** Loads its code when the page is opened. */
  load: () => Promise<ComponentType>
  /** Minimum role of the tablet; the gateway requires more rights of its PIN user. */
  role: Role
  help: HelpTopic
  /** True for a screen with a heading of its own. */
  isWhole?: true
}

/** All pages, in the order of the list below each heading. */
export const MORE_PAGES: readonly MorePage[] = [
  {
    path: 'pace',
    section: 'day',
    title: () => paceTexts().title,
    load: () => import('./pace.tsx').then(({ PacePage }) => PacePage),
    help: 'pace',
    role: 'staff',
  },
  {
    path: 'day',
    section: 'day',
    title: () => dayTexts().title,
    load: () => import('./day.tsx').then(({ DayScreen }) => DayScreen),
    help: 'day',
    role: 'user',
    isWhole: true,
  },
  {
    path: 'replay',
    section: 'day',
    title: () => replayTexts().title,
    load: () => import('./replay.tsx').then(({ ReplayScreen }) => ReplayScreen),
    help: 'replay',
    role: 'staff',
    isWhole: true,
  },
  {
    path: 'reports',
    section: 'day',
    title: () => moreTexts().reports,
    load: () => import('./reports.tsx').then(({ ReportsScreen }) => ReportsScreen),
    help: 'reports',
    role: 'staff',
    isWhole: true,
  },
  {
    path: 'course',
    section: 'course',
    title: () => courseTexts().title,
    load: () => import('./course.tsx').then(({ CourseScreen }) => CourseScreen),
    help: 'course',
    role: 'admin',
    isWhole: true,
  },
  {
    path: 'barn',
    section: 'course',
    title: () => barnTexts().title,
    load: () => import('./barn.tsx').then(({ BarnScreen }) => BarnScreen),
    help: 'barn',
    role: 'staff',
    isWhole: true,
  },
  {
    path: 'zones',
    section: 'course',
    title: () => zonesTexts().title,
    load: () => import('./zones.tsx').then(({ ZonesScreen }) => ZonesScreen),
    help: 'zones',
    role: 'staff',
    isWhole: true,
  },
  {
    path: 'cart-path',
    section: 'course',
    title: () => cartPathTexts().title,
    load: () => import('./cart-path.tsx').then(({ CartPathPage }) => CartPathPage),
    role: 'staff',
    help: 'cartPath',
  },
  {
    path: 'devices',
    section: 'carts',
    title: () => deviceTexts().title,
    load: () => import('./devices/devices-page.tsx').then(({ DevicesPage }) => DevicesPage),
    help: 'devices',
    role: 'admin',
  },
  {
    path: 'groups',
    section: 'carts',
    title: () => groupTexts().title,
    load: () => import('./devices/groups-page.tsx').then(({ GroupsPage }) => GroupsPage),
    help: 'groups',
    role: 'admin',
  },
  {
    path: 'people',
    section: 'people',
    title: () => tabletTexts().people,
    load: () => import('./more/people.tsx').then(({ PeoplePage }) => PeoplePage),
    help: 'people',
    role: 'admin',
  },
  {
    path: 'tablets',
    section: 'people',
    title: () => tabletTexts().tablets,
    load: () => import('./more/tablets.tsx').then(({ TabletsPage }) => TabletsPage),
    help: 'tablets',
    role: 'admin',
  },
  {
    path: 'site',
    section: 'gateway',
    title: () => siteTexts().title,
    load: () => import('./site.tsx').then(({ SitePage }) => SitePage),
    help: 'site',
    role: 'staff',
  },
  {
    path: 'notify',
    section: 'gateway',
    title: () => notifyTexts().title,
    load: () => import('./notify.tsx').then(({ NotifyPage }) => NotifyPage),
    help: 'notifiers',
    role: 'admin',
  },
  {
    path: 'storage',
    section: 'gateway',
    title: () => gatewayTexts().storage,
    load: () => import('./gateway/storage.tsx').then(({ StoragePage }) => StoragePage),
    role: 'admin',
    help: 'storage',
  },
  {
    path: 'backups',
    section: 'gateway',
    title: () => backupTexts().title,
    load: () => import('./gateway/backups.tsx').then(({ BackupsPage }) => BackupsPage),
    role: 'admin',
    help: 'backups',
  },
  {
    path: 'sync',
    section: 'gateway',
    title: () => gatewayTexts().sync,
    load: () => import('./gateway/sync.tsx').then(({ SyncPage }) => SyncPage),
    role: 'admin',
    help: 'sync',
  },
  {
    path: 'encryption',
    section: 'gateway',
    title: () => encryptionTexts().title,
    load: () => import('./gateway/encryption.tsx').then(({ EncryptionPage }) => EncryptionPage),
    role: 'admin',
    help: 'encryption',
  },
  {
    path: 'mqtt',
    section: 'gateway',
    title: () => gatewayTexts().mqtt,
    load: () => import('./gateway/mqtt-clients.tsx').then(({ MqttClientsPage }) => MqttClientsPage),
    role: 'admin',
    help: 'mqtt',
  },
  {
    path: 'damage',
    section: 'gateway',
    title: () => gatewayTexts().damage,
    load: () => import('./gateway/damage.tsx').then(({ DamagePage }) => DamagePage),
    role: 'admin',
    help: 'damage',
  },
  {
    path: 'audit-log',
    section: 'gateway',
    title: () => gatewayTexts().audit,
    load: () => import('./gateway/audit-log.tsx').then(({ AuditLogPage }) => AuditLogPage),
    role: 'admin',
    help: 'audit',
  },
]

/** Returns the page at an address below More, if there is one. */
export function morePageAt(rest: string | null): MorePage | undefined {
  const [path] = (rest ?? '').split('/')
  return MORE_PAGES.find((page) => page.path === path)
}
