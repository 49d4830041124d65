import './more/more.css'
import type { ComponentType } from 'preact'
import { isAtLeast } from '#dashboard/live/person-gate.ts'
import { toHash } from '#dashboard/live/route.ts'
import { moreTexts } from '#dashboard/texts/more.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { HelpLink } from '#dashboard/ui/help-link.tsx'
import { Icon } from '#dashboard/ui/icons.tsx'
import { lazy } from '#dashboard/ui/lazy.tsx'
import { GatewayState } from './more/gateway-state.tsx'
import { SignOut } from './more/sign-out.tsx'
import { WhatIsShown } from './more/what-is-shown.tsx'
import { WhoActs } from './more/who-acts.tsx'
import { MORE_PAGES, MORE_SECTIONS, type MorePage, morePageAt } from './more-pages.ts'

const COMPONENTS: ReadonlyMap<string, ComponentType> = new Map(
  MORE_PAGES.map(({ path, load }) => [path, lazy(load)]),
)

/** What is not needed every minute; a page of it by its address. */
export function MoreScreen() {
  const { router, me } = useDashboard()
  const texts = moreTexts()
  const role = me.value?.user.role ?? 'user'
  const pages = MORE_PAGES.filter((page) => isAtLeast(role, page.role))
  const { rest } = router.route.value
  const asked = morePageAt(rest)
  const open = asked !== undefined && pages.includes(asked) ? asked : undefined
  const Page = COMPONENTS.get(open?.path ?? '')
  if (open?.isWhole === true && Page !== undefined) return <Page key={open.path} />
  if (open !== undefined && Page !== undefined)
    return (
      <div class="page more-page">
        <div class="row">
          <a class="button" href={toHash('more')} aria-label={texts.back}>
            <Icon name="back" />
          </a>
          <h1 class="more-title">{open.title()}</h1>
          <HelpLink topic={open.help} />
        </div>
        <Page key={open.path} />
      </div>
    )
  return (
    <div class="page more-page">
      <div class="row">
        <h1 class="more-title">{texts.title}</h1>
        <HelpLink topic="all" />
      </div>
      {me.value !== null && asked !== undefined && (
        <p class="panel" role="status">
          <strong>{asked.title()}</strong> · {asked.role === 'admin' ? texts.forAdmins : texts.forStaff}
        </p>
      )}
      {asked === undefined && rest !== null && (
        <p class="panel" role="status">
          {texts.noPage(rest)}
        </p>
      )}
      <WhoActs />
      {MORE_SECTIONS.map((section) => (
        <Links
          key={section}
          title={texts.sections[section]}
          pages={pages.filter((page) => page.section === section)}
        />
      ))}
      <WhatIsShown />
      <GatewayState />
      <SignOut />
    </div>
  )
}

function Links({ title, pages }: { title: string; pages: readonly MorePage[] }) {
  if (pages.length === 0) return null
  return (
    <nav class="panel more-links" aria-label={title}>
      <h2>{title}</h2>
      {pages.map((page) => (
        <a key={page.path} href={`${toHash('more')}/${page.path}`}>
          {page.title()}
          <Icon name="next" />
        </a>
      ))}
    </nav>
  )
}
