import type { ComponentType } from 'preact'
import type { HelpTopic } from '#dashboard/live/help-places.ts'
import type { moreTexts } from '#dashboard/texts/more.ts'
import type { Role } from '#shared/wire/users.ts'

/** Page below More, at `#/more/PATH`; the page itself parses the part after a further slash. */
export interface MorePage {
  /** Also names its title and its help. */
  path: HelpTopic & PagePath
  /** Minimum role of the tablet; the gateway requires more rights of its PIN user. */
  role: Role
  /** Panels stand in columns, a list fills the height, a whole screen has a heading of its own. */
  shape: 'panels' | 'list' | 'whole'
  /** Loads its code when the page is opened. */
  load: () => Promise<ComponentType>
}

export type PagePath = keyof ReturnType<typeof moreTexts>['pages']

const page = (path: MorePage['path'], role: Role, shape: MorePage['shape'], load: MorePage['load']): MorePage => ({
  path,
  role,
  shape,
  load,
})

/** All pages by heading, in order. */
export const MORE_SECTIONS = {
  day: [
    page('parties', 'staff', 'list', () => import('./parties.tsx').then((at) => at.PartiesPage)),
    page('service', 'staff', 'list', () => import('./service/service-page.tsx').then((at) => at.ServicePage)),
    page('day', 'user', 'whole', () => import('./day.tsx').then((at) => at.DayScreen)),
    page('replay', 'staff', 'whole', () => import('./replay.tsx').then((at) => at.ReplayScreen)),
    page('reports', 'staff', 'whole', () => import('./reports.tsx').then((at) => at.ReportsScreen)),
  ],
  course: [
    page('site', 'staff', 'list', () => import('./site.tsx').then((at) => at.SitePage)),
    page('course', 'admin', 'whole', () => import('./course.tsx').then((at) => at.CourseScreen)),
    page('barn', 'staff', 'whole', () => import('./barn.tsx').then((at) => at.BarnScreen)),
    page('zones', 'staff', 'whole', () => import('./zones.tsx').then((at) => at.ZonesScreen)),
    page('cart-path', 'staff', 'list', () => import('./cart-path.tsx').then((at) => at.CartPathPage)),
    page('texts', 'admin', 'panels', () => import('./more/ready-texts.tsx').then((at) => at.ReadyTextsPage)),
    page('devices', 'admin', 'list', () => import('./devices/devices-page.tsx').then((at) => at.DevicesPage)),
    page('groups', 'admin', 'list', () => import('./devices/groups-page.tsx').then((at) => at.GroupsPage)),
  ],
  people: [
    page('people', 'admin', 'list', () => import('./more/people.tsx').then((at) => at.PeoplePage)),
    page('tablets', 'admin', 'panels', () => import('./more/tablets.tsx').then((at) => at.TabletsPage)),
    page('notify', 'admin', 'panels', () => import('./notify.tsx').then((at) => at.NotifyPage)),
    page('mail-reports', 'admin', 'panels', () => import('./mail-reports.tsx').then((at) => at.MailReportsPage)),
    page('audit-log', 'admin', 'list', () => import('./gateway/audit-log.tsx').then((at) => at.AuditLogPage)),
  ],
  gateway: [
    page('repairs', 'admin', 'panels', () => import('./gateway/repairs.tsx').then((at) => at.RepairsPage)),
    page('backups', 'admin', 'panels', () => import('./gateway/backups.tsx').then((at) => at.BackupsPage)),
    page('storage', 'admin', 'panels', () => import('./gateway/storage.tsx').then((at) => at.StoragePage)),
    page('sync', 'admin', 'panels', () => import('./gateway/sync.tsx').then((at) => at.SyncPage)),
    page('encryption', 'admin', 'panels', () => import('./gateway/encryption.tsx').then((at) => at.EncryptionPage)),
    page('mqtt', 'admin', 'list', () => import('./gateway/mqtt-clients.tsx').then((at) => at.MqttClientsPage)),
    page('damage', 'admin', 'panels', () => import('./gateway/damage.tsx').then((at) => at.DamagePage)),
  ],
} satisfies Record<string, readonly MorePage[]>

export const MORE_PAGES: readonly MorePage[] = Object.values(MORE_SECTIONS).flat()

/** Returns the page at an address below More, if there is one. */
export function morePageAt(rest: string | null): MorePage | undefined {
  const [path] = (rest ?? '').split('/')
  return MORE_PAGES.find((one) => one.path === path)
}
