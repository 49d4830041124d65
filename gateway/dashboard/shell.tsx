import './shell.css'
import type { ComponentType } from 'preact'
import { type ScreenName, screensFor, toHash } from '#dashboard/live/route.ts'
import { AlertBar, RecallBar } from '#dashboard/screens/alerts/alert-bars.tsx'
import { RecallButton } from '#dashboard/screens/alerts/recall-button.tsx'
import { formatTime } from '#dashboard/texts/format.ts'
import { shellTexts } from '#dashboard/texts/shell.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Icon } from '#dashboard/ui/icons.tsx'
import { lazy } from '#dashboard/ui/lazy.tsx'
import { Banners } from './banners.tsx'

const LIVE_MAP = lazy(() => import('#dashboard/screens/map.tsx').then(({ MapScreen }) => MapScreen))

const COMPONENTS: Record<ScreenName, ComponentType> = {
  map: LIVE_MAP,
  fleet: lazy(() => import('#dashboard/screens/fleet.tsx').then(({ FleetScreen }) => FleetScreen)),
  evening: lazy(() => import('#dashboard/screens/evening.tsx').then(({ EveningScreen }) => EveningScreen)),
  alerts: lazy(() => import('#dashboard/screens/alerts.tsx').then(({ AlertsScreen }) => AlertsScreen)),
  more: lazy(() => import('#dashboard/screens/more.tsx').then(({ MoreScreen }) => MoreScreen)),
}

const PersonDialog = lazy(() =>
  import('#dashboard/screens/person-gate.tsx').then(({ PersonDialog }) => PersonDialog),
)

/** What is around every screen: the rail, the banner of the line, the clock. */
export function Shell() {
  const { router, gate, me } = useDashboard()
  const { screen: asked } = router.route.value
  const screens = screensFor(me.value?.role ?? 'user')
  const screen = screens.includes(asked) ? asked : 'map'
  const Screen = COMPONENTS[screen]
  return (
    <div class="shell">
      <Rail current={screen} screens={screens} />
      <header class="banner">
        <Banners />
        <AlertBar />
        <RecallBar />
      </header>
      <main class="screen">
        <Screen />
      </main>
      {gate.question !== null && <PersonDialog />}
    </div>
  )
}

function Rail({ current, screens }: { current: ScreenName; screens: readonly ScreenName[] }) {
  const { fleet, clock, line, second, site } = useDashboard()
  const texts = shellTexts()
  const open =
    fleet.version.value >= 0
      ? [...fleet.alerts.values()].filter((alert) => alert.acknowledged_at === null)
      : []
  const isLive = line.state.value.kind === 'live'
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  return (
    <nav class="rail" aria-label={texts.screens}>
      {screens.map((name) => (
        <a
          key={name}
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
