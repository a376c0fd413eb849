import { stem } from "../../lib/text/words.ts";

/**
 * Words that stand for each other in what tools are called and what people ask for: short forms first, then
 * what tools do, then what they do it to. Each line is one meaning, and a word may have several.
 */
const meanings = `
repo repository
db database
doc document documentation
dir directory folder
img image picture photo pic
msg message
config configuration setting
param parameter argument
env environment
app application
info information detail
lang language
num number
max maximum
min minimum
temp temperature
avg average mean
lat latitude
lng lon longitude
auth authentication authenticate login signin
org organization organisation company
calc calculate compute calculation calculator
cmd command
id identifier
js javascript
ts typescript
py python
k8s kubernetes
postgres postgresql
email mail
gh github
summarize summarise summary
analyze analyse analysis analytics
translate translation translator
convert conversion converter
generate generation generator
recommend recommendation suggest suggestion
validate validation verify verification check
search finder lookup find
schedule calendar

delete remove erase drop clear
create make add new
get fetch retrieve obtain
find search lookup locate discover
list show display view
update edit modify change set
send post publish
run execute launch start
stop end terminate kill cancel
copy duplicate clone
move transfer
download save export
upload import
convert transform
calculate compute
analyze examine inspect
compare diff difference
check verify validate
schedule book reserve
buy purchase order
read open
write save

film movie
song music track
stock share equity
price cost
place location
route direction navigation
hotel accommodation lodging
flight airline plane
car vehicle automobile
job career employment
chart graph plot diagram
spreadsheet sheet excel
website site webpage web
phone telephone mobile
company business organization
crypto cryptocurrency bitcoin
money currency
recipe cooking meal food dish
medicine drug medication
news article headline
tweet twitter
ticket issue bug
error exception failure
task todo
event meeting appointment calendar
note memo
password secret credential
account user profile
video clip
shop store shopping
trip travel vacation
weather forecast
book novel
gift present
exercise workout fitness
lawyer legal law
house home property estate
student education learning course
code program script
`;

const table = new Map<string, Set<string>>();
for (const line of meanings.split("\n").filter(Boolean)) {
  const stems = new Set(line.split(" ").map(stem));
  for (const one of stems) {
    const others = table.get(one) ?? new Set();
    for (const other of stems) if (other !== one) others.add(other);
    table.set(one, others);
  }
}

const none: ReadonlySet<string> = new Set();

/** Finds the stems that may stand for a stem. */
export function findSynonyms(term: string): ReadonlySet<string> {
  return table.get(term) ?? none;
}
