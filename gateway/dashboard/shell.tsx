import './shell.css'
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import { isEveningNear } from '#dashboard/live/fleet/evening-near.ts'
import { loadAhead } from '#dashboard/live/page/load-ahead.ts'
import { type ScreenName, screensFor, toHash } from '#dashboard/live/route.ts'
import { AlertBar, RecallBar } from '#dashboard/screens/alerts/alert-bars.tsx'
import { RecallButton } from '#dashboard/screens/alerts/recall-button.tsx'
import { formatMoment, formatTime } from '#dashboard/texts/format.ts'
import { shellTexts } from '#dashboard/texts/shell.ts'
import { Button, ButtonLink } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Dialog } from '#dashboard/ui/dialog.tsx'
import { loadHelp } from '#dashboard/ui/help-button.tsx'
import { Icon } from '#dashboard/ui/icons.tsx'
import { lazy } from '#dashboard/ui/lazy.tsx'
import { useTitle } from '#dashboard/ui/use-title.ts'
import { Banners } from './banners.tsx'

const LOADS: Record<ScreenName, () => Promise<ComponentType>> = {
  map: () => import('#dashboard/screens/map.tsx').then(({ MapScreen }) => MapScreen),
  fleet: () => import('#dashboard/screens/fleet.tsx').then(({ FleetScreen }) => FleetScreen),
  pace: () => import('#dashboard/screens/pace.tsx').then(({ PaceScreen }) => PaceScreen),
  evening: () => import('#dashboard/screens/evening.tsx').then(({ EveningScreen }) => EveningScreen),
  alerts: () => import('#dashboard/screens/alerts.tsx').then(({ AlertsScreen }) => AlertsScreen),
  more: () => import('#dashboard/screens/more.tsx').then(({ MoreScreen }) => MoreScreen),
}
// the keys of the record are the screens
const COMPONENTS = Object.fromEntries(Object.entries(LOADS).map(([name, load]) => [name, lazy(load)])) as Record<
  ScreenName,
  ComponentType
>

const loadPersonDialog = () => import('#dashboard/screens/pin-prompt.tsx').then(({ PersonDialog }) => PersonDialog)
const PersonDialog = lazy(loadPersonDialog)
const loadCartCard = () => import('#dashboard/screens/cart-card.tsx')

/** Frame around every screen: the navigation rail, the banners, the clock. */
export function Shell() {
  const { router, gate, me, site, clock } = useDashboard()
  const { screen: asked } = router.route.value
  const screens = screensFor(me.value?.role ?? 'user')
  const screen = screens.find((name) => name === asked)
  const Screen = screen === undefined ? NoScreen : COMPONENTS[screen]
  // each page of More has its own title
  useTitle(screen === 'more' ? null : shellTexts()[screen ?? 'map'])
  useEffect(
    () => loadAhead([loadPersonDialog, loadCartCard, loadHelp, ...screens.map((name) => LOADS[name])], loadsOfMore),
    [],
  )
  return (
    <div class="shell">
      <Rail current={screen} screens={screens} />
      <header class="banner">
        <Banners />
        <AlertBar />
        <RecallBar />
      </header>
      <main class="screen">
        <p class="on-paper">
          {[site.value.name, formatMoment(clock.nowMs(), clock.nowMs(), site.value.time_zone)].join(' · ')}
        </p>
        <Screen />
      </main>
      {gate.question !== null && <PersonDialog />}
      {router.asked.value !== null && <AskLeave question={router.asked.value} />}
    </div>
  )
}

/** Page of an address that leads nowhere, or only with more rights. */
function NoScreen() {
  const { router } = useDashboard()
  const texts = shellTexts()
  const { screen } = router.route.value
  return (
    <div class="page">
      <p role="status">{screen === null ? texts.noPage(location.hash) : `${texts[screen]} · ${texts.forStaff}`}</p>
      <p>
        <ButtonLink text={texts.toMap} is="main" href={toHash('map')} />
      </p>
    </div>
  )
}

function AskLeave({ question }: { question: string }) {
  const { router } = useDashboard()
  const texts = shellTexts()
  return (
    <Dialog title={question} onCancel={() => router.stay()}>
      <div class="dialog-buttons">
        <Button text={texts.stay} is="main" onClick={() => router.stay()} />
        <Button text={texts.leave} is="danger" onClick={() => router.leave()} />
      </div>
    </Dialog>
  )
}

async function loadsOfMore(): Promise<readonly (() => Promise<unknown>)[]> {
  const { MORE_PAGES } = await import('#dashboard/screens/more-pages.ts')
  return MORE_PAGES.map(({ load }) => load)
}

function Rail({ current, screens }: { current: ScreenName | undefined; screens: readonly ScreenName[] }) {
  const { fleet, clock, line, second, site, settings } = useDashboard()
  const texts = shellTexts()
  const open =
    fleet.version.value >= 0 ? [...fleet.alerts.values()].filter((alert) => alert.acknowledged_at === null) : []
  const isLive = line.state.value.kind === 'live'
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  // a phone has room for one of them
  const notOnPhone = isEveningNear(settings.value, nowMs) ? 'pace' : 'evening'
  return (
    <nav class="rail" aria-label={texts.screens}>
      {screens.map((name) => (
        <a
          key={name}
          class={name === notOnPhone ? 'not-on-phone' : undefined}
          href={toHash(name)}
          aria-current={name === current ? 'page' : undefined}
          aria-label={texts[name]}
          data-count={name === 'alerts' && open.length > 0 ? open.length : undefined}
        >
          <Icon name={name} />
          <span>{texts[name]}</span>
        </a>
      ))}
      <RecallButton />
      <p class={line.state.value.kind === 'lost' ? 'rail-foot lost' : 'rail-foot'}>
        {nowMs > 0 && formatTime(nowMs, site.value.time_zone)}
        <br />
        <span class="rail-line">{isLive ? `● ${texts.live}` : '○'}</span>
      </p>
    </nav>
  )
}
