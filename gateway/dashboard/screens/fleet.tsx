import './fleet.css'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { toFleetCsv } from '#dashboard/live/fleet/fleet-csv.ts'
import {
  FLEET_FILTERS,
  FLEET_SORTS,
  type FleetFilter,
  type FleetSort,
  orderFleet,
} from '#dashboard/live/fleet/fleet-order.ts'
import { isFit, orderGiveOut } from '#dashboard/live/fleet/give-out.ts'
import { markerStyleOf } from '#dashboard/live/fleet/marker-style.ts'
import { toHash } from '#dashboard/live/route.ts'
import { fleetTexts } from '#dashboard/texts/fleet.ts'
import { formatDistance } from '#dashboard/texts/format.ts'
import { shellTexts } from '#dashboard/texts/shell.ts'
import { CartShape } from '#dashboard/ui/cart-shape.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { HelpButton } from '#dashboard/ui/help-button.tsx'
import { saveCsv } from '#dashboard/ui/save-file.ts'
import { VirtualTable } from '#dashboard/ui/virtual-table.tsx'
import { CART_ROW_PX, CartRow } from './cart-row.tsx'

const GIVEN_OUT = 5

/** Fleet screen: every cart, the most urgent first; above the list, the carts to hand out in the morning. */
export function FleetScreen() {
  const { fleet, clock, second, site } = useDashboard()
  const { language, time_zone } = site.value
  const texts = fleetTexts()
  const [sort, setSort] = useState<FleetSort>('matters')
  const [filter, setFilter] = useState<FleetFilter>('all')
  const version = fleet.version.value
  const carts = useMemo(() => orderFleet(fleet.carts.values(), sort, filter), [version, sort, filter])
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  return (
    <div class="fleet">
      <header class="fleet-top">
        <h1>{texts.title}</h1>
        <Choice label={texts.show} value={filter} names={texts.filters} all={FLEET_FILTERS} onChoose={setFilter} />
        <Choice label={texts.sort} value={sort} names={texts.sorts} all={FLEET_SORTS} onChoose={setSort} />
        <button
          type="button"
          class="button"
          disabled={!fleet.isKnown}
          onClick={() => saveCsv('fleet.csv', toFleetCsv(carts, { language, timeZone: time_zone }))}
        >
          {texts.csv}
        </button>
        <HelpButton screen="fleet" title={texts.title} />
      </header>
      <GiveOut />
      <div class="cart-table fleet-table">
        <VirtualTable label={texts.title} items={carts} rowPx={CART_ROW_PX} head={<Head />}>
          {(cart) => <CartRow key={cart.cart} cart={cart} nowMs={nowMs} />}
        </VirtualTable>
      </div>
      {carts.length === 0 && fleet.isKnown && (
        <p class="fleet-none">{fleet.carts.size === 0 ? texts.noCarts : texts.none}</p>
      )}
    </div>
  )
}

function Head() {
  const { columns } = fleetTexts()
  return (
    <tr class="cart-head">
      <th>{columns.cart}</th>
      <th>{columns.place}</th>
      <th class="wide-only">{columns.battery}</th>
      <th class="wide-only">{columns.lock}</th>
      <th>{columns.heard}</th>
    </tr>
  )
}

interface ChoiceProps<Name extends string> {
  label: string
  value: Name
  names: Record<Name, string>
  all: readonly Name[]
  onChoose: (name: Name) => void
}

function Choice<Name extends string>({ label, value, names, all, onChoose }: ChoiceProps<Name>) {
  return (
    <label class="fleet-choice">
      <span class="small">{label}</span>
      <select
        class="input"
        value={value}
        onChange={({ currentTarget }) => {
          const chosen = all.find((name) => name === currentTarget.value)
          if (chosen !== undefined) onChoose(chosen)
        }}
      >
        {all.map((name) => (
          <option key={name} value={name}>
            {names[name]}
          </option>
        ))}
      </select>
    </label>
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
