import type { ComponentType } from 'preact'
import { barnTexts } from '#dashboard/texts/barn.ts'
import { notifyTexts } from '#dashboard/texts/notify.ts'
import { tabletTexts } from '#dashboard/texts/tablets.ts'
import type { Role } from '#shared/wire/users.ts'

/** A page below More, at `#/more/PATH`. */
export interface MorePage {
  path: string
  title: () => string
  /** The code of it comes when it is opened. */
  load: () => Promise<ComponentType>
  /** Of the tablet; whoever acts on it is asked for more by the gateway. */
  role: Role
  /** A screen with a heading of its own. */
  isWhole?: true
}

/** All of them, in the order of the list. */
export const MORE_PAGES: readonly MorePage[] = [
  {
    path: 'barn',
    title: () => barnTexts().title,
    load: () => import('./barn.tsx').then(({ BarnScreen }) => BarnScreen),
    role: 'staff',
    isWhole: true,
  },
  {
    path: 'notify',
    title: () => notifyTexts().title,
    load: () => import('./notify.tsx').then(({ NotifyPage }) => NotifyPage),
    role: 'admin',
  },
  {
    path: 'tablets',
    title: () => tabletTexts().tablets,
    load: () => import('./more/tablets.tsx').then(({ TabletsPage }) => TabletsPage),
    role: 'admin',
  },
  {
    path: 'people',
    title: () => tabletTexts().people,
    load: () => import('./more/people.tsx').then(({ PeoplePage }) => PeoplePage),
    role: 'admin',
  },
]
