import '#dashboard/ui/pages.css'
import './fleet.css'
import { useEffect, useMemo } from 'preact/hooks'
import { toFleetCsv } from '#dashboard/live/fleet/fleet-csv.ts'
import { FLEET_FILTERS, orderFleet } from '#dashboard/live/fleet/fleet-order.ts'
import { isFit, orderGiveOut } from '#dashboard/live/fleet/give-out.ts'
import { markerStyleOf } from '#dashboard/live/fleet/marker-style.ts'
import { toHash } from '#dashboard/live/route.ts'
import { fleetTexts } from '#dashboard/texts/fleet.ts'
import { formatDistance } from '#dashboard/texts/format.ts'
import { shellTexts } from '#dashboard/texts/shell.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { CartShape } from '#dashboard/ui/cart-shape.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { SelectField } from '#dashboard/ui/fields/select-field.tsx'
import { HelpButton } from '#dashboard/ui/help-button.tsx'
import { Icon } from '#dashboard/ui/icons.tsx'
import { Panes } from '#dashboard/ui/lists/panes.tsx'
import { Table } from '#dashboard/ui/lists/table.tsx'
import { saveCsv } from '#dashboard/ui/save-file.ts'
import { useChoice } from '#dashboard/ui/use-address.ts'
import { CartCard } from './cart-card.tsx'
import { useCartColumns } from './cart-columns.tsx'
import { MessageButton } from './message-button.tsx'

const GIVEN_OUT = 5

/** Fleet screen: every cart, the most urgent first; above the list, the carts to hand out in the morning. */
export function FleetScreen() {
  const { router } = useDashboard()
  const { rest } = router.route.value
  const chosen = rest !== null && (
    <>
      <p class="bar">
        <a class="button" href={toHash('map', rest)}>
          <Icon name="map" />
          {shellTexts().map}
        </a>
      </p>
      <CartCard key={rest} cart={rest} onClose={() => (location.hash = router.beside(null))} />
    </>
  )
  return <Panes list={<FleetList chosen={rest} />} chosen={chosen || null} />
}

function FleetList({ chosen }: { chosen: string | null }) {
  const { fleet, router, site } = useDashboard()
  const { language, time_zone } = site.value
  const texts = fleetTexts()
  const [filter, setFilter] = useChoice('show', FLEET_FILTERS)
  const version = fleet.version.value
  const carts = useMemo(() => orderFleet(fleet.carts.values(), filter), [version, filter])
  const columns = useCartColumns((cart) => router.beside(cart))
  return (
    <div class="screen-column">
      <header class="bar">
        <h1 class="grow">{texts.title}</h1>
        <SelectField name={texts.show} value={filter} options={texts.filters} onChoose={setFilter} />
        <Button
          text={texts.csv}
          disabled={!fleet.isKnown}
          onClick={() => saveCsv('fleet.csv', toFleetCsv(carts, { language, timeZone: time_zone }))}
        />
        <MessageButton isIconOnly />
        <HelpButton screen="fleet" title={texts.title} />
      </header>
      <GiveOut />
      {carts.length === 0 && fleet.isKnown && <p class="bar">{fleet.carts.size === 0 ? texts.noCarts : texts.none}</p>}
      <Table
        label={texts.title}
        items={carts}
        columns={columns}
        chosen={chosen}
        keyOf={({ cart }) => cart}
        nameOf={({ cart }) => texts.cart(cart)}
      />
    </div>
  )
}

/** Five carts to hand out next, visible without a tap. */
function GiveOut() {
  const { fleet, clock, site, week } = useDashboard()
  const texts = fleetTexts()
  const fit = fleet.version.value >= 0 ? [...fleet.carts.values()].filter(isFit) : []
  const usage = week.usage.value
  useEffect(() => {
    if (fit.length > 0) void week.ask(fit, clock.nowMs())
  })
  const first = orderGiveOut(fit, usage).slice(0, GIVEN_OUT)
  const driven = (km: number | undefined) => (km === undefined ? '' : formatDistance(km * 1000, site.value.units))
  return (
    <section class="give-out" aria-label={texts.giveOut}>
      <div>
        <h2>{texts.giveOut}</h2>
        <p class="small">{texts.giveOutWhy}</p>
      </div>
      {first.length === 0 ? (
        <p>{fleet.isKnown ? texts.nothingToGive : `${shellTexts().loading} …`}</p>
      ) : (
        <ul class="give-out-list">
          {first.map((cart) => (
            <li key={cart.cart}>
              <a class="give-out-cart" href={toHash('map', cart.cart)}>
                <CartShape markerStyle={markerStyleOf(cart, { marksUnlocked: false })} label={cart.cart} />
                <span class="visually-hidden">{texts.cart(cart.cart)}</span>
                <span class="small">{driven(usage.get(cart.cart))}</span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
